/* Gives a process a heap whose pages were touched beforehand. The library is preloaded (LD_PRELOAD) into the embedded broker, which keeps
 * everything that is written to it. The benchmark compiles the library, and the product does not contain it.
 *
 * The free memory of a virtual machine may go back to its host. Then the first use of a page costs 8 microseconds, and the use of a page
 * that was touched lately costs 1.5. At 80,000 records a second the difference is a quarter of the core that publisher and APNs share.
 *
 * MAILBOAT_BENCH_HEAP_MIB is the size of the heap in MiB. */
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
    /* taskset replaces itself with the process, and only the process has to touch its heap. */
    if (strcmp(program_invocation_short_name, "taskset") == 0) return;
    if (count > PIECES_MAX) count = PIECES_MAX;
    /* All threads share one heap, which grows in one piece and gives nothing back. Thresholds above 32 MiB are refused. */
    mallopt(M_ARENA_MAX, 1);
    mallopt(M_TRIM_THRESHOLD, 0x7fffffff);
    mallopt(M_MMAP_THRESHOLD, 32 << 20);
    for (long piece = 0; piece < count; piece++) {
        pieces[piece] = malloc(PIECE_BYTES);
        for (size_t at = 0; pieces[piece] && at < PIECE_BYTES; at += PAGE_BYTES) ((volatile char *)pieces[piece])[at] = 1;
    }
    for (long piece = 0; piece < count; piece++) free(pieces[piece]);
}
