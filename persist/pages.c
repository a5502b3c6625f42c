/* pages.c: LMDB's file as a whole: mapping it, its two metas, and which of them a transaction works on. */
#include "persist/pages.h"
#include "persist/page_scan.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TRIES = 1000 };
static const uint32_t magic = 0xBEEFC0DE, format = 1;

static dcsr_status map_file(dcsr_i_page_scan *w, int file)
{
    struct stat data;
    if (fstat(file, &data))
        return dcsr_i_fail(DCSR_ERROR_IO, "%s/data.mdb: looking at it: %s", w->path, strerror(errno));
    w->bytes = (size_t)data.st_size;
    if (!w->bytes) return DCSR_OK;
    void *map = mmap(NULL, w->bytes, PROT_READ, MAP_SHARED, file, 0);
    if (map == MAP_FAILED)
        return dcsr_i_fail(DCSR_ERROR_IO, "%s/data.mdb: mapping it: %s", w->path, strerror(errno));
    madvise(map, w->bytes, MADV_RANDOM); /* what lies between the pages of trees is not wanted */
    w->map = map;
    return DCSR_OK;
}

static void unmap_file(const dcsr_i_page_scan *w)
{
    if (w->map) munmap((void *)w->map, w->bytes);
}

/* Copies both metas. Another process may write one meanwhile: until two copies are the same. */
static dcsr_status copy_metas(const dcsr_i_page_scan *w, dcsr_i_meta copies[DCSR_I_METAS])
{
    dcsr_i_meta again[DCSR_I_METAS];
    for (int tries = 0; tries < TRIES; tries++) {
        for (int i = 0; i < DCSR_I_METAS; i++)
            memcpy(&copies[i], dcsr_i_page_at(w, (uint64_t)i) + sizeof(dcsr_i_page_head), sizeof *copies);
        __atomic_thread_fence(__ATOMIC_SEQ_CST);
        for (int i = 0; i < DCSR_I_METAS; i++)
            memcpy(&again[i], dcsr_i_page_at(w, (uint64_t)i) + sizeof(dcsr_i_page_head), sizeof *copies);
        if (!memcmp(copies, again, sizeof again)) return DCSR_OK;
    }
    return dcsr_i_page_damaged(w, 0, "it never stays as it is");
}

/* Two metas that can be those of one file, into copies. */
static dcsr_status read_metas(dcsr_i_page_scan *w, dcsr_i_meta copies[DCSR_I_METAS])
{
    dcsr_i_page_head h;
    if (w->bytes < sizeof h + sizeof *copies) return dcsr_i_page_damaged(w, 0, "the file ends in it");
    memcpy(&h, w->map, sizeof h);
    memcpy(copies, w->map + sizeof h, sizeof *copies);
    if (!(h.kind & DCSR_I_META_PAGE) || copies->magic != magic || copies->version != format)
        return dcsr_i_fail(DCSR_ERROR_FORMAT,
                           "%s/data.mdb: this is no store, or its first page is damaged: it is not that of "
                           "LMDB's format 1",
                           w->path);
    w->page_bytes = copies->free_tree.unused;
    if (w->page_bytes < DCSR_I_SHORTEST_PAGE || w->page_bytes > DCSR_I_LONGEST_PAGE ||
        w->page_bytes & (w->page_bytes - 1))
        return dcsr_i_page_damaged(w, 0, "it says that pages have a size that they cannot have");
    if (w->bytes < DCSR_I_METAS * w->page_bytes) return dcsr_i_page_damaged(w, 1, "the file ends before it");
    DCSR_TRY(copy_metas(w, copies));
    for (unsigned i = 0; i < DCSR_I_METAS; i++) {
        const dcsr_i_meta *m = &copies[i];
        memcpy(&h, dcsr_i_page_at(w, i), sizeof h);
        if (h.kind != DCSR_I_META_PAGE || h.number != i || m->magic != magic || m->version != format ||
            m->free_tree.unused != w->page_bytes)
            return dcsr_i_page_damaged(w, i, "it is not what the other of the first two makes it");
        if (m->last_page < DCSR_I_METAS - 1 || m->last_page >= DCSR_STORE_MAX_BYTES / w->page_bytes)
            return dcsr_i_page_damaged(w, i, "it says that there are more pages than there can be");
    }
    /* LMDB works on that with the higher number. A damaged number would bring back what was before. */
    unsigned newer = copies[0].txn < copies[1].txn;
    uint64_t txn = copies[newer].txn;
    if (txn % DCSR_I_METAS != newer || copies[!newer].txn != (txn ? txn - 1 : 0))
        return dcsr_i_page_damaged(w, newer, "its transaction is not the one after that of the other");
    return DCSR_OK;
}

/* The meta that a transaction works on: a reader's has its number, a writer's that before its own. NULL where
 * other processes have committed twice since a reader began, so that its meta has been overwritten. */
static const dcsr_i_meta *find_meta(const dcsr_i_meta copies[DCSR_I_METAS], uint64_t txn)
{
    uint64_t newest = copies[copies[0].txn < copies[1].txn].txn;
    if (txn == newest + 1) txn = newest;
    return copies[txn % DCSR_I_METAS].txn == txn ? &copies[txn % DCSR_I_METAS] : NULL;
}

/* The trees of a meta; and that the other one, where it is older, is so in truth: were it the newer, with a
 * number that is damaged, LMDB would show what was before it. */
static dcsr_status check_meta(dcsr_i_page_scan *w, const dcsr_i_meta copies[DCSR_I_METAS],
                              const dcsr_i_meta *used)
{
    const dcsr_i_meta *other = &copies[used == copies];
    if (other->txn < used->txn) DCSR_TRY(dcsr_i_page_check_txn(w, other));
    return dcsr_i_page_scan_trees(w, used);
}

static dcsr_status check(const dcsr_store *store, MDB_txn *txn, bool heads)
{
    mdb_filehandle_t file;
    int code = mdb_env_get_fd(store->env, &file);
    for (int tries = 0; !code && tries < TRIES; tries++) {
        dcsr_i_page_scan w = {.path = store->path, .heads = heads};
        dcsr_i_meta copies[DCSR_I_METAS];
        const dcsr_i_meta *used = NULL;
        dcsr_status status = map_file(&w, file);
        if (status == DCSR_OK) status = read_metas(&w, copies);
        if (status == DCSR_OK) used = find_meta(copies, mdb_txn_id(txn));
        if (used) status = check_meta(&w, copies, used);
        unmap_file(&w);
        if (used || status != DCSR_OK) return status;
        mdb_txn_reset(txn);
        code = mdb_txn_renew(txn);
    }
    return dcsr_i_fail(DCSR_ERROR_IO, "%s/data.mdb: reading it: %s", store->path,
                       code ? mdb_strerror(code) : "it changes all the time");
}

dcsr_status dcsr_i_pages_check(const dcsr_store *store, MDB_txn *txn)
{
    return check(store, txn, !store->read_only);
}

dcsr_status dcsr_i_pages_check_all(const dcsr_store *store, MDB_txn *txn)
{
    return check(store, txn, true);
}

dcsr_status dcsr_i_pages_check_file(const char *path)
{
    char name[4096];
    int length = snprintf(name, sizeof name, "%s/data.mdb", path);
    if (length < 0 || (size_t)length >= sizeof name)
        return dcsr_i_fail(DCSR_ERROR_IO, "%s: the path is too long", path);
    int file = open(name, O_RDONLY | O_CLOEXEC);
    if (file < 0 && errno == ENOENT) return DCSR_OK;
    if (file < 0) return dcsr_i_fail(DCSR_ERROR_IO, "%s: opening it: %s", name, strerror(errno));
    dcsr_i_page_scan w = {.path = path};
    dcsr_i_meta copies[DCSR_I_METAS];
    dcsr_status status = map_file(&w, file);
    if (status == DCSR_OK && w.bytes) status = read_metas(&w, copies);
    unmap_file(&w);
    close(file);
    return status;
}
