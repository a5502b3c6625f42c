/* backup.c: a copy of a store (copy.c) in another folder, or in its own place. */
#include "persist/store_data.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- Elsewhere ---- */

/* Made by us, with the permissions of the store's folder, or there. */
static dcsr_status find_folder(const dcsr_store *store, const char *path, bool *ours)
{
    struct stat folder;
    if (stat(store->path, &folder))
        return dcsr_i_fail(DCSR_ERROR_IO, "%s: looking at the folder: %s", store->path, strerror(errno));
    *ours = !mkdir(path, folder.st_mode & DCSR_I_STORE_FOLDER_MODE);
    if (*ours || errno == EEXIST) return DCSR_OK;
    return dcsr_i_fail(DCSR_ERROR_IO, "%s: making the folder of a backup: %s", path, strerror(errno));
}

static dcsr_status expect_empty(const char *path)
{
    static const char *const unfinished[] = {DCSR_I_COPY, NULL};
    if (!dcsr_i_folder_has_others(path, unfinished)) return DCSR_OK;
    return dcsr_i_fail(DCSR_ERROR_IO,
                       "%s: there are files in it, and a backup goes into an empty folder; name another",
                       path);
}

dcsr_status dcsr_store_backup(dcsr_store *store, const char *path, dcsr_store_progress progress, void *user,
                              dcsr_store_copied *copied)
{
    dcsr_store_copied unasked;
    bool ours = false;
    DCSR_TRY(dcsr_i_store_check("dcsr_store_backup", store, false));
    if (!path || !*path)
        return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "dcsr_store_backup: path is %s",
                           path ? "empty" : "NULL");
    DCSR_TRY(find_folder(store, path, &ours));
    DCSR_TRY(expect_empty(path));
    int folder = dcsr_i_folder_lock(path, LOCK_EX | LOCK_NB);
    if (folder < 0 && errno == EWOULDBLOCK)
        return dcsr_i_fail(DCSR_ERROR_BUSY,
                           "%s: another process makes a backup or a store there; name another folder", path);
    if (folder < 0) return dcsr_i_fail(DCSR_ERROR_IO, "%s: locking the folder: %s", path, strerror(errno));
    dcsr_status status = expect_empty(path); /* once more, as it may have been made just now */
    if (status == DCSR_OK)
        status = dcsr_i_store_copy(store, path, progress, user, copied ? copied : &unasked);
    if (status == DCSR_OK) status = dcsr_i_store_name_copy(path);
    if (status != DCSR_OK && ours) rmdir(path);
    close(folder);
    return status;
}

/* ---- In its own place ---- */

/* Opening the new file alone makes LMDB's table of readers anew, which is about the old file's transactions.
 * Programs that use LMDB by themselves, and wait for it, would go by that. */
static void renew_readers(const dcsr_store *store)
{
    MDB_env *env;
    if (mdb_env_create(&env)) return;
    mdb_env_open(env, store->path, MDB_RDONLY | MDB_NOTLS, DCSR_I_STORE_FILE_MODE);
    mdb_env_close(env);
}

dcsr_status dcsr_store_compact(const char *path, dcsr_store_progress progress, void *user,
                               dcsr_store_copied *copied)
{
    dcsr_store *store;
    dcsr_store_copied unasked;
    if (!path) return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "dcsr_store_compact: path is NULL");
    DCSR_TRY(dcsr_i_store_open_alone(&store, path));
    dcsr_status status = dcsr_i_store_copy(store, store->path, progress, user, copied ? copied : &unasked);
    if (status == DCSR_OK) status = dcsr_i_store_name_copy(store->path);
    if (status == DCSR_OK) renew_readers(store);
    dcsr_store_close(store);
    return status;
}
