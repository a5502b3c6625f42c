/* copy.c: a dense copy of what a store holds, checked and synced: what compacting and backing up share.
 *
 *      one transaction that reads: pages.c looks at all trees, then
 *      every key and value of the five databases, in order --> FOLDER/.copy.mdb --> verify.c, sync
 *
 * Written in the order of keys, the pages of the copy are full and follow one another. What is checked is the
 * copy: so what was damaged before, and what became so on the way, is found alike. Nobody else knows the
 * copy, which needs no locks therefore, and no sync before the last. */
#include "persist/pages.h"
#include "persist/store_data.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

/* What a copy may take up beyond what is in use in the file that is copied: pages that its own transactions
 * have freed. */
static const uint64_t slack = (uint64_t)1 << 26;

typedef struct copying {
    const dcsr_store *from;
    dcsr_store to; /* the copy, called as what is copied: that is what damage in it is about */
    const char *folder;
    uint64_t needed; /* bytes */
    MDB_txn *reading, *writing;
    uint64_t pending; /* bytes since the last commit */
    dcsr_i_progress progress;
    char damage[400]; /* the first that was found */
} copying;

/* ---- Failures ---- */

static dcsr_status lacks_room(const copying *c, const char *what)
{
    return dcsr_i_fail(DCSR_ERROR_IO,
                       "%s: copying it into %s: %s; about %llu bytes are needed there. The store is as it "
                       "was, and nothing was kept of the copy: make room and try again",
                       c->from->path, c->folder, what, (unsigned long long)c->needed);
}

static dcsr_status fail(const copying *c, int code)
{
    if (code == ENOSPC || code == EDQUOT) return lacks_room(c, "the disk is full");
    if (code == EIO) return lacks_room(c, "the disk is full, or failing"); /* LMDB says so of both */
    return dcsr_i_store_fail(c->from, code, "copying it");
}

/* ---- Copying ---- */

/* The bytes of all trees. */
static dcsr_status measure(copying *c)
{
    for (int d = 0; d < DCSR_I_DATABASES; d++) {
        MDB_stat stat;
        int code = mdb_stat(c->reading, c->from->database[d], &stat);
        if (code) return fail(c, code);
        c->needed += (stat.ms_branch_pages + stat.ms_leaf_pages + stat.ms_overflow_pages) * stat.ms_psize;
    }
    c->progress.of = c->needed;
    return DCSR_OK;
}

/* At once where there cannot be room, before a disk is filled on which others write, too. */
static dcsr_status look_for_room(const copying *c)
{
    struct statvfs disk;
    if (statvfs(c->folder, &disk)) return dcsr_i_fail(DCSR_ERROR_IO, "%s: %s", c->folder, strerror(errno));
    if ((uint64_t)disk.f_bavail * disk.f_frsize >= c->needed) return DCSR_OK;
    return lacks_room(c, "there is not enough room on the disk");
}

static dcsr_status begin_copy(copying *c, const char *path)
{
    MDB_env *env;
    int code = mdb_env_create(&env);
    if (code) return fail(c, code);
    c->to.env = env;
    mdb_env_set_maxdbs(env, DCSR_I_DATABASES);
    mdb_env_set_mapsize(env, c->needed + slack);
    code =
        mdb_env_open(env, path, MDB_NOSUBDIR | MDB_NOLOCK | MDB_NOSYNC | MDB_NOTLS, DCSR_I_STORE_FILE_MODE);
    if (!code) code = mdb_txn_begin(env, NULL, 0, &c->writing);
    for (int d = 0; d < DCSR_I_DATABASES && !code; d++)
        code = mdb_dbi_open(c->writing, dcsr_i_database_names[d], MDB_CREATE, &c->to.database[d]);
    return code ? fail(c, code) : DCSR_OK;
}

static int commit_copied(copying *c)
{
    MDB_txn *txn = c->writing;
    c->writing = NULL;
    c->pending = 0;
    return mdb_txn_commit(txn);
}

static dcsr_status copy_database(copying *c, int database)
{
    MDB_cursor *cursor;
    MDB_val key, value;
    int code = mdb_cursor_open(c->reading, c->from->database[database], &cursor);
    if (code) return fail(c, code);
    while (!code && !(code = mdb_cursor_get(cursor, &key, &value, MDB_NEXT))) {
        uint64_t bytes = key.mv_size + value.mv_size;
        code = mdb_put(c->writing, c->to.database[database], &key, &value, MDB_APPEND);
        dcsr_i_progress_tell(&c->progress, bytes);
        c->pending += bytes;
        if (code || c->pending < dcsr_i_store_transaction_bytes) continue;
        code = commit_copied(c);
        if (!code) code = mdb_txn_begin(c->to.env, NULL, 0, &c->writing);
    }
    mdb_cursor_close(cursor);
    return code == MDB_NOTFOUND ? DCSR_OK : fail(c, code);
}

static dcsr_status copy_all(copying *c, const char *path)
{
    DCSR_TRY(dcsr_i_txn_begin(&c->reading, c->from, false));
    DCSR_TRY(dcsr_i_pages_check_all(c->from, c->reading)); /* LMDB would stumble over what is wrong there */
    DCSR_TRY(measure(c));
    DCSR_TRY(look_for_room(c));
    DCSR_TRY(begin_copy(c, path));
    for (int d = 0; d < DCSR_I_DATABASES; d++) DCSR_TRY(copy_database(c, d));
    int code = commit_copied(c);
    return code ? fail(c, code) : DCSR_OK;
}

/* ---- Checking ---- */

static void keep_damage(void *user, const char *text)
{
    copying *c = user;
    if (!c->damage[0]) dcsr_i_error_format(c->damage, sizeof c->damage, "%s", text);
}

static dcsr_status check_copy(copying *c, dcsr_store_check *check)
{
    c->progress.doing = "checking the copy";
    c->progress.done = c->progress.told = 0;
    DCSR_TRY(dcsr_i_store_verify(&c->to, keep_damage, c, &c->progress, check));
    if (!check->corrupt) return DCSR_OK;
    return dcsr_i_fail(
        DCSR_ERROR_CORRUPT,
        "%s; so the store was not copied: `dcsr verify` tells of all the damage, and what is not "
        "damaged can be restored",
        c->damage);
}

/* On the disk, with the owner, where that is allowed, and the mode of what was copied. */
static dcsr_status finish_copy(copying *c, dcsr_store_copied *copied)
{
    mdb_filehandle_t original, copy;
    struct stat old, made;
    int code = mdb_env_sync(c->to.env, 1);
    if (!code) code = mdb_env_get_fd(c->from->env, &original);
    if (!code) code = mdb_env_get_fd(c->to.env, &copy);
    if (code) return fail(c, code);
    if (fstat(original, &old) || fstat(copy, &made)) return fail(c, errno);
    bool owned = !fchown(copy, old.st_uid, old.st_gid) || !fchown(copy, (uid_t)-1, old.st_gid);
    (void)owned;
    if (fchmod(copy, old.st_mode & ALLPERMS) || fsync(copy)) return fail(c, errno);
    copied->bytes_before = (uint64_t)old.st_size;
    copied->bytes_after = (uint64_t)made.st_size;
    return DCSR_OK;
}

/* ---- All of it ---- */

dcsr_status dcsr_i_store_copy(dcsr_store *store, const char *folder, dcsr_store_progress progress, void *user,
                              dcsr_store_copied *copied)
{
    char path[DCSR_I_LONGEST_PATH];
    if (!dcsr_i_path_join(path, folder, DCSR_I_COPY))
        return dcsr_i_fail(DCSR_ERROR_IO, "%s: %s", folder, strerror(errno));
    copying c = {.from = store,
                 .to = {.path = store->path, .process = store->process},
                 .folder = folder,
                 .progress = {.call = progress, .user = user, .doing = "copying"}};
    unlink(path);
    dcsr_i_file_signal signal = dcsr_i_file_signal_hold();
    dcsr_status status = copy_all(&c, path);
    if (c.writing) mdb_txn_abort(c.writing);
    dcsr_i_txn_abort(c.reading, store);
    DCSR_I_POINT("copy: written");
    if (status == DCSR_OK) status = check_copy(&c, &copied->check);
    if (status == DCSR_OK) status = finish_copy(&c, copied);
    if (c.to.env) mdb_env_close(c.to.env);
    dcsr_i_file_signal_release(&signal);
    if (status != DCSR_OK) unlink(path);
    DCSR_I_POINT("copy: synced");
    return status;
}

void dcsr_i_progress_tell(dcsr_i_progress *progress, uint64_t bytes)
{
    static const uint64_t step = (uint64_t)1 << 20;
    progress->done += bytes;
    if (!progress->call || progress->done - progress->told < step) return;
    progress->told = progress->done;
    progress->call(progress->user, progress->doing,
                   progress->done < progress->of ? progress->done : progress->of, progress->of);
}

bool dcsr_i_sync_folder(const char *path, const char *name)
{
    char joined[DCSR_I_LONGEST_PATH];
    if (!dcsr_i_path_join(joined, path, name)) return false;
    int folder = open(joined, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool synced = folder < 0 ? errno == EACCES : !fsync(folder); /* what may not be read can't be synced */
    if (folder >= 0) close(folder);
    return synced;
}

dcsr_status dcsr_i_store_name_copy(const char *folder)
{
    char copy[DCSR_I_LONGEST_PATH], data[DCSR_I_LONGEST_PATH];
    if (!dcsr_i_path_join(copy, folder, DCSR_I_COPY) || !dcsr_i_path_join(data, folder, "data.mdb"))
        return dcsr_i_fail(DCSR_ERROR_IO, "%s: %s", folder, strerror(errno));
    if (rename(copy, data)) {
        int reason = errno;
        unlink(copy);
        return dcsr_i_fail(DCSR_ERROR_IO, "%s: naming the copy: %s", data, strerror(reason));
    }
    DCSR_I_POINT("copy: named");
    if (dcsr_i_sync_folder(folder, ".") && dcsr_i_sync_folder(folder, "..")) return DCSR_OK;
    return dcsr_i_fail(DCSR_ERROR_IO,
                       "%s: syncing the folder: %s; the copy is there, and may be gone when "
                       "the power fails",
                       folder, strerror(errno));
}
