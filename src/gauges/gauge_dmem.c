/* gauge_dmem - memory of devices as control groups count it (the dmem controller of Linux 6.14 and
 * later): what all groups hold, and what that of the command does.
 */
#include "gauges/gauge.h"
#include "gauges/sysfs.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>

#define GROUPS "sys/fs/cgroup"
#define TEXT 16384

static struct {
    char name[SYSFS_NAME];
    uint64_t total;
} regions[WIRE_DEVICES_MOST];
static uint32_t count;

static void open_all(struct gauge_found *out)
{
    char text[TEXT], name[SYSFS_NAME];
    const char *s = text;
    struct wire_device *w;
    uint64_t bytes;

    if (!gauge_read(text, sizeof(text), GROUPS "/dmem.capacity")) {
        snprintf(out->note, sizeof(out->note), "no driver reports its memory to control groups");
        return;
    }
    while ((s = sysfs_next(s, name, &bytes)) && (w = gauge_add(out))) {
        memcpy(regions[count].name, name, sizeof(name));
        regions[count].total = bytes;
        snprintf(w->index, sizeof(w->index), "%u", count);
        snprintf(w->name, sizeof(w->name), "%s", name);
        snprintf(w->way, sizeof(w->way), "dmem; ours is all of the command's control group");
        count++;
    }
}

static uint32_t find(const char *name)
{
    uint32_t i = 0;

    while (i < count && strcmp(regions[i].name, name) != 0)
        i++;
    return i;
}

static void add_group(const char *group, uint64_t sums[WIRE_DEVICES_MOST])
{
    char text[TEXT], name[SYSFS_NAME];
    const char *s = text;
    uint64_t bytes;
    uint32_t i;

    if (!gauge_read(text, sizeof(text), GROUPS "%s/dmem.current", group))
        return;
    while ((s = sysfs_next(s, name, &bytes)))
        if ((i = find(name)) < count && bytes != ABSENT)
            sums[i] = sums[i] == ABSENT ? bytes : sums[i] + bytes;
}

/* The groups right below the root hold everything: the root itself is not counted. */
static void add_all(uint64_t sums[WIRE_DEVICES_MOST])
{
    struct dirent *entry;
    char path[4096], group[300];
    DIR *folder = gauge_path(path, sizeof(path), GROUPS) ? opendir(path) : NULL;

    while (folder && (entry = readdir(folder)))
        if (entry->d_name[0] != '.' && (entry->d_type == DT_DIR || entry->d_type == DT_UNKNOWN)) {
            snprintf(group, sizeof(group), "/%s", entry->d_name);
            add_group(group, sums);
        }
    if (folder)
        closedir(folder);
}

/* That of the first process; false: it is in the root, or not known. */
static bool group_of(const struct gauge_asked *asked, char *out, size_t room)
{
    char text[2048];
    const char *s;

    if (!asked->count || !gauge_read(text, sizeof(text), "proc/%d/cgroup", asked->pids[0]))
        return false;
    s = !strncmp(text, "0::", 3) ? text : strstr(text, "\n0::");
    if (!s)
        return false;
    s = strstr(s, "::") + 2;
    snprintf(out, room, "%.*s", (int)strcspn(s, "\n"), s);
    return out[0] == '/' && out[1] && !strstr(out, "/../");
}

static void read_all(const struct gauge_asked *asked, struct gauge_answer *out)
{
    uint64_t used[WIRE_DEVICES_MOST], ours[WIRE_DEVICES_MOST];
    char group[1024];

    memset(used, 0xff, sizeof(used));
    memset(ours, 0xff, sizeof(ours));
    add_all(used);
    if (group_of(asked, group, sizeof(group)))
        add_group(group, ours);
    for (uint32_t i = 0; i < count; i++) {
        out->reading[i].used = used[i];
        out->reading[i].total = regions[i].total;
        out->reading[i].ours = ours[i];
    }
}

const struct gauge gauge_dmem = {"dmem", open_all, read_all};
