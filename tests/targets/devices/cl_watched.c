/* cl_watched - a program of OpenCL that watches buffers: cl_watched WHAT.
 *
 * order     "w" is filled when it is made; then, 4 KiB of it: written by the host (other bytes),
 * written again (the same), by kernel add_one, by kernel peek, which declares it const and leaves
 * it, by add_one through a part of it; then a kernel that is not given it, by sneak, which declares
 * it const and writes, and unmapped with another byte. "other" is watched and never changed. Prints
 * what "w" has at the end waits     a kernel waits for an event that this very thread sets after it
 * was put into the queue queues    two queues in turn that know no order, and one that works in any
 * order released  it is released, with a kernel still on its way ended     watched no longer, and
 * then changed unread    the host may not read it many      17 of them large     200 MiB, 8 kernels
 * at once forks     it is watched, then the program forks: the child's own watch of memory goes on
 */
#include "tidemark.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define CL_TARGET_OPENCL_VERSION 120
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>

#define BYTES 4096u

static cl_context context;
static cl_device_id device;
static cl_command_queue queue;
static cl_program program;

static const char *source =
    "kernel void add_one(global uchar *a) { a[get_global_id(0)] += 1; }\n"
    "kernel void peek(global const uchar *a, global uchar *b) { b[get_global_id(0)] = a[0]; }\n"
    "kernel void sneak(global const uchar *a) { ((global uchar *)a)[get_global_id(0)] = 77; }\n";

static void expect(cl_int status)
{
    if (status) {
        fprintf(stderr, "status %d\n", (int)status);
        exit(5);
    }
}

static cl_mem make(cl_mem_flags flags, size_t bytes, void *from)
{
    cl_int status;
    cl_mem made = clCreateBuffer(context, flags, bytes, from, &status);

    expect(status);
    return made;
}

static cl_kernel kernel(const char *name, cl_mem a, cl_mem b)
{
    cl_int status;
    cl_kernel made = clCreateKernel(program, name, &status);

    expect(status);
    expect(clSetKernelArg(made, 0, sizeof(a), &a));
    if (b)
        expect(clSetKernelArg(made, 1, sizeof(b), &b));
    return made;
}

__attribute__((noinline)) static void launch_in(cl_command_queue q, cl_kernel k, cl_event after,
                                                cl_event *event)
{
    const size_t items = 64;

    expect(clEnqueueNDRangeKernel(q, k, 1, NULL, &items, NULL, after ? 1 : 0, after ? &after : NULL,
                                  event));
}

static void launch(cl_kernel k)
{
    launch_in(queue, k, NULL, NULL);
}

static void write_it(cl_mem to, unsigned char byte)
{
    unsigned char bytes[64];

    memset(bytes, byte, sizeof(bytes));
    expect(clEnqueueWriteBuffer(queue, to, CL_TRUE, 0, sizeof(bytes), bytes, 0, NULL, NULL));
}

static void order(void)
{
    static unsigned char zeros[BYTES];
    const cl_buffer_region range = {0, 1024};
    cl_mem w = make(CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, BYTES, zeros);
    cl_mem other = make(CL_MEM_READ_WRITE, BYTES, NULL),
           third = make(CL_MEM_READ_WRITE, BYTES, NULL);
    cl_int status;
    cl_mem part = clCreateSubBuffer(w, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &range,
                                    &status);
    unsigned char *at;

    expect(status);
    tidemark_watch_opencl(w, "w");
    tidemark_watch_opencl(other, "other");
    write_it(w, 5);
    write_it(w, 5);
    launch(kernel("add_one", w, NULL));
    launch(kernel("peek", w, third));
    launch(kernel("add_one", part, NULL));
    launch(kernel("add_one", third, NULL));
    launch(kernel("sneak", w, NULL));
    launch(kernel("peek", other, third));
    at = clEnqueueMapBuffer(queue, w, CL_TRUE, CL_MAP_WRITE, 0, BYTES, 0, NULL, NULL, &status);
    expect(status);
    at[BYTES - 1] = 9;
    expect(clEnqueueUnmapMemObject(queue, w, at, 0, NULL, NULL));
    expect(clEnqueueReadBuffer(queue, w, CL_TRUE, 0, BYTES, zeros, 0, NULL, NULL));
    expect(clFinish(queue));
    printf("%d %d %d\n", zeros[0], zeros[64], zeros[BYTES - 1]);
}

static void waits(void)
{
    cl_mem w = make(CL_MEM_READ_WRITE, BYTES, NULL);
    cl_int status;
    cl_event gate = clCreateUserEvent(context, &status);

    expect(status);
    write_it(w, 1);
    tidemark_watch_opencl(w, "w");
    launch_in(queue, kernel("add_one", w, NULL), gate, NULL);
    launch(kernel("add_one", w, NULL));
    expect(clSetUserEventStatus(gate, CL_COMPLETE));
    expect(clFinish(queue));
}

static void queues(void)
{
    cl_mem w = make(CL_MEM_READ_WRITE, BYTES, NULL);
    cl_int status;
    cl_command_queue second = clCreateCommandQueue(context, device, 0, &status), any;
    cl_event gate = clCreateUserEvent(context, &status), done;

    any = clCreateCommandQueue(context, device, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, &status);
    expect(status);
    write_it(w, 1);
    tidemark_watch_opencl(w, "w");
    launch_in(queue, kernel("add_one", w, NULL), gate, &done);
    launch_in(second, kernel("add_one", w, NULL), done, &done);
    launch_in(any, kernel("add_one", w, NULL), done, NULL);
    expect(clSetUserEventStatus(gate, CL_COMPLETE));
    expect(clFinish(queue));
    expect(clFinish(second));
    expect(clFinish(any));
}

static void CL_CALLBACK note(cl_mem mem, void *gone)
{
    (void)mem;
    atomic_store((atomic_bool *)gone, true);
}

/* A thread of the driver may have it a little longer than clFinish waits. Who asks last is told
 * first. */
static void released(void)
{
    cl_mem w = make(CL_MEM_READ_WRITE, BYTES, NULL);
    atomic_bool gone = false;
    cl_kernel k;

    write_it(w, 1);
    expect(clSetMemObjectDestructorCallback(w, note, &gone));
    tidemark_watch_opencl(w, "w");
    launch(k = kernel("add_one", w, NULL));
    expect(clReleaseKernel(k));
    expect(clReleaseMemObject(w));
    expect(clFinish(queue));
    while (!atomic_load(&gone))
        usleep(1000);
}

static void ended(void)
{
    cl_mem w = make(CL_MEM_READ_WRITE, BYTES, NULL);

    write_it(w, 1);
    tidemark_watch_opencl(w, "w");
    launch(kernel("add_one", w, NULL));
    tidemark_unwatch(w);
    launch(kernel("add_one", w, NULL));
    expect(clFinish(queue));
}

static void unread(void)
{
    cl_mem w = make(CL_MEM_READ_WRITE | CL_MEM_HOST_WRITE_ONLY, BYTES, NULL);

    tidemark_watch_opencl(w, "w");
    launch(kernel("add_one", w, NULL));
    launch(kernel("add_one", w, NULL));
    expect(clFinish(queue));
}

static void many(void)
{
    char name[] = "a";

    for (int i = 0; i < 17; i++, name[0]++)
        tidemark_watch_opencl(make(CL_MEM_READ_WRITE, BYTES, NULL), name);
}

static void large(void)
{
    cl_mem w = make(CL_MEM_READ_WRITE, (size_t)200 << 20, NULL);
    cl_int status;
    cl_event gate = clCreateUserEvent(context, &status);
    cl_kernel k = kernel("add_one", w, NULL);

    expect(status);
    write_it(w, 1);
    tidemark_watch_opencl(w, "w");
    for (int i = 0; i < 8; i++)
        launch_in(queue, k, i ? NULL : gate, NULL);
    expect(clSetUserEventStatus(gate, CL_COMPLETE));
    expect(clFinish(queue));
}

static void forks(void)
{
    static char memory[1 << 16];
    pid_t child;
    int status = 0;

    tidemark_watch_opencl(make(CL_MEM_READ_WRITE, BYTES, NULL), "w");
    child = fork();
    if (child == 0) {
        tidemark_watch(memory, sizeof(memory), "child's");
        memory[20000] = 1;
        tidemark_mark("m", 0);
        _exit(0);
    }
    if (waitpid(child, &status, 0) != child || status)
        exit(6);
}

static const struct {
    const char *name;
    void (*run)(void);
} whats[] = {{"order", order},       {"waits", waits}, {"queues", queues},
             {"released", released}, {"ended", ended}, {"unread", unread},
             {"many", many},         {"large", large}, {"forks", forks}};

int main(int argc, char **argv)
{
    cl_platform_id platform;
    cl_uint count = 0;
    cl_int status;

    if (clGetPlatformIDs(1, &platform, &count) || !count ||
        clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, &count) || !count)
        return 3; /* no device */
    context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
    expect(status);
    queue = clCreateCommandQueue(context, device, 0, &status);
    expect(status);
    program = clCreateProgramWithSource(context, 1, &source, NULL, &status);
    expect(status);
    expect(clBuildProgram(program, 0, NULL, argc > 2 ? argv[2] : NULL, NULL, NULL));
    for (size_t i = 0; i < sizeof(whats) / sizeof(whats[0]); i++)
        if (argc > 1 && strcmp(argv[1], whats[i].name) == 0)
            whats[i].run();
    return 0;
}
