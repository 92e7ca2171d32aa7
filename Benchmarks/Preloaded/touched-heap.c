/* Gives a process a heap whose pages have been touched before. Preloaded (LD_PRELOAD) into the embedded broker, which keeps everything that is
 * written to it; the benchmark compiles it, the product does not contain it.
 *
 * On a virtual machine whose free memory goes back to its host, the first use of a page costs 8 microseconds where a page touched lately
 * costs 1.5: a quarter of a core at 80,000 records a second, on the core that publisher and APNs share.
 *
 * MAILBOAT_BENCH_HEAP_MIB: how much. */
#define _GNU_SOURCE
#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#define PIECE_BYTES (16u << 20)
#define PIECES_MAX 256
#define PAGE_BYTES 4096

__attribute__((constructor)) static void touch(void) {
    static char *pieces[PIECES_MAX];
    const char *text = getenv("MAILBOAT_BENCH_HEAP_MIB");
    long count = text ? (atol(text) << 20) / PIECE_BYTES : 0;
    /* What puts the process on its core replaces itself by it: once is enough. */
    if (strcmp(program_invocation_short_name, "taskset") == 0) return;
    if (count > PIECES_MAX) count = PIECES_MAX;
    /* One heap for all threads, that grows in one piece and gives nothing back. Larger thresholds than 32 MiB are refused. */
    mallopt(M_ARENA_MAX, 1);
    mallopt(M_TRIM_THRESHOLD, 0x7fffffff);
    mallopt(M_MMAP_THRESHOLD, 32 << 20);
    for (long piece = 0; piece < count; piece++) {
        pieces[piece] = malloc(PIECE_BYTES);
        for (size_t at = 0; pieces[piece] && at < PIECE_BYTES; at += PAGE_BYTES) ((volatile char *)pieces[piece])[at] = 1;
    }
    for (long piece = 0; piece < count; piece++) free(pieces[piece]);
}
