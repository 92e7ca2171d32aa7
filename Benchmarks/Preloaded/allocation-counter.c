/* Counts the heap allocations of a process by who made them. The library is preloaded (LD_PRELOAD) into the process. The counts are in a
 * file that others read while the process runs. The benchmark compiles the library, and the product does not contain it.
 *
 * MAILBOAT_BENCH_ALLOCATIONS names the file. It begins with one 64-bit count per group, in the order of `enum group`. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* SWIFT is the program itself and everything written in Swift. The others are C libraries. */
enum group { SWIFT, NGHTTP2, OPENSSL, RDKAFKA, OTHER, GROUPS };

struct range {
    uintptr_t begin, end;
    enum group group;
};

#define RANGES_MAX 256
static struct range ranges[RANGES_MAX];
static atomic_int range_count;
/* Counts that are dropped: those before the file exists, and those of programs that the process starts. */
static atomic_long nowhere[GROUPS];
static atomic_long *counts = nowhere;

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);

static enum group group_of(const char *path) {
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    static const char *const swift[] = {"libswift", "libFoundation", "lib_Foundation", "libdispatch", "libBlocksRuntime"};
    static const char *const kafka[] = {"librdkafka", "libsasl2", "liblz4", "libzstd", "libz.so"};
    if (*name == 0) return SWIFT; /* the program itself has no name here */
    for (size_t i = 0; i < sizeof swift / sizeof *swift; i++)
        if (strncmp(name, swift[i], strlen(swift[i])) == 0) return SWIFT;
    for (size_t i = 0; i < sizeof kafka / sizeof *kafka; i++)
        if (strncmp(name, kafka[i], strlen(kafka[i])) == 0) return RDKAFKA;
    if (strncmp(name, "libnghttp2", 10) == 0) return NGHTTP2;
    if (strncmp(name, "libssl", 6) == 0 || strncmp(name, "libcrypto", 9) == 0) return OPENSSL;
    return OTHER;
}

static int add_object(struct dl_phdr_info *info, size_t size, void *context) {
    (void)size;
    (void)context;
    int count = atomic_load(&range_count);
    for (int i = 0; i < info->dlpi_phnum && count < RANGES_MAX; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        if (header->p_type != PT_LOAD || !(header->p_flags & PF_X)) continue;
        ranges[count].begin = info->dlpi_addr + header->p_vaddr;
        ranges[count].end = ranges[count].begin + header->p_memsz;
        ranges[count].group = group_of(info->dlpi_name);
        count++;
    }
    atomic_store(&range_count, count);
    return 0;
}

static inline void count(void *caller) {
    uintptr_t address = (uintptr_t)caller;
    int known = atomic_load_explicit(&range_count, memory_order_relaxed);
    enum group group = OTHER;
    for (int i = 0; i < known; i++)
        if (address >= ranges[i].begin && address < ranges[i].end) {
            group = ranges[i].group;
            break;
        }
    atomic_fetch_add_explicit(&counts[group], 1, memory_order_relaxed);
}

__attribute__((constructor)) static void open_counts(void) {
    dl_iterate_phdr(add_object, NULL);
    const char *path = getenv("MAILBOAT_BENCH_ALLOCATIONS");
    if (!path) return;
    int file = open(path, O_RDWR | O_CREAT, 0600);
    if (file < 0) return;
    if (ftruncate(file, sizeof nowhere) == 0) {
        void *shared = mmap(NULL, sizeof nowhere, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        if (shared != MAP_FAILED) counts = shared;
    }
    close(file);
}

void *malloc(size_t size) {
    count(__builtin_return_address(0));
    return __libc_malloc(size);
}

void *calloc(size_t number, size_t size) {
    count(__builtin_return_address(0));
    return __libc_calloc(number, size);
}

void *realloc(void *old, size_t size) {
    count(__builtin_return_address(0));
    return __libc_realloc(old, size);
}

void *aligned_alloc(size_t alignment, size_t size) {
    count(__builtin_return_address(0));
    return __libc_memalign(alignment, size);
}

int posix_memalign(void **result, size_t alignment, size_t size) {
    count(__builtin_return_address(0));
    void *memory = __libc_memalign(alignment, size);
    if (!memory) return ENOMEM;
    *result = memory;
    return 0;
}

/* Bytes that are allocated and not freed, as glibc counts them. The process looks this function up by name. */
size_t mailboat_bench_heap_byte_count(void) {
    struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
}
