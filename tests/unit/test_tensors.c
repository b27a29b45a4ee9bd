/* What tensors are for, and which steps a program makes, from lives that are written as text:
 *
 *   NAME=PHASE/OP/BYTES[@LINE]   a tensor is born; LINE is where the program called it from;
 * OP:NODE, of which gradients -NAME                        it dies
 *
 * Tensors of one phase, operator and line are of one stack.
 */
#include "check.h"

#include "base/hash.h"
#include "model/step_find.h"
#include "model/tensor_kinds.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST 400

struct life {
    struct tensor list[MOST];
    struct op_stack from[MOST];
    struct table_frame sites[MOST];
    char names[MOST][16], ops[MOST][32];
    uint32_t count;
};

static enum op_phase phase_of(const char *text)
{
    for (int p = OP_PHASE_OTHER; p <= OP_PHASE_OPTIMIZER; p++)
        if (!strcmp(text, op_phase_text((enum op_phase)p)))
            return (enum op_phase)p;
    printf("# '%s' is no phase\n", text);
    exit(1);
}

static void bear(struct life *l, const char *word)
{
    uint32_t i = l->count++;
    char phase[16], line[16] = "0", *node;
    unsigned long bytes;

    if (sscanf(word, "%15[^=]=%15[^/]/%31[^/]/%lu@%15s", l->names[i], phase, l->ops[i], &bytes,
               line) < 4 ||
        i + 1 == MOST) {
        printf("# '%s' is no birth\n", word);
        exit(1);
    }
    if ((node = strchr(l->ops[i], ':')))
        *node++ = '\0';
    l->from[i] = (struct op_stack){
        .framework = "test",
        .node = node,
        .bucket = !strcmp(l->ops[i], "bucket"),
        .shard = !strcmp(l->ops[i], "shard"),
        .op = l->ops[i],
        .called = l->ops[i],
        .phase = phase_of(phase),
        .tensor = true,
        .sited = true,
        .site = {.function = "train", .file = "a.py", .line = strtoul(line, NULL, 10)}};
    l->list[i] = (struct tensor){
        .from = &l->from[i],
        .bytes = bytes,
        .born_ns = 1000 * (i + 1),
        .stack = (uint32_t)hash_bytes(HASH_START, strchr(word, '='), strlen(strchr(word, '='))),
        .place = 1,
        .number = i,
        .until = TENSOR_NEVER};
}

static void die(struct life *l, const char *name)
{
    for (uint32_t i = l->count; i-- > 0;)
        if (!strcmp(l->names[i], name) && l->list[i].until == TENSOR_NEVER) {
            l->list[i].until = l->count;
            return;
        }
    printf("# no '%s' lives\n", name);
    exit(1);
}

static void live(struct life *l, const char *text)
{
    char *copy = strdup(text), *rest = copy, *word;

    while ((word = strsep(&rest, " ")))
        if (*word == '-')
            die(l, word + 1);
        else if (*word)
            bear(l, word);
    free(copy);
}

/* ---- kinds ---- */

/* Is every tensor of a name what it should be? The first that is not is printed. */
static bool are(const struct life *l, const char *name, const char *kind)
{
    bool any = false;

    for (uint32_t i = 0; i < l->count; i++) {
        if (strcmp(l->names[i], name) != 0)
            continue;
        any = true;
        if (strcmp(tensor_kind_text(l->list[i].kind), kind) != 0) {
            printf("# %s (number %u) is of %s, not %s\n", name, i,
                   tensor_kind_text(l->list[i].kind), kind);
            return false;
        }
    }
    return any;
}

static struct life *judged(const char *setup, const char *step, int steps, const char *end)
{
    static struct life l;
    struct tensor *list[MOST];

    l = (struct life){0};
    live(&l, setup);
    for (int i = 0; i < steps; i++)
        live(&l, step);
    live(&l, end);
    for (uint32_t i = 0; i < l.count; i++)
        list[i] = &l.list[i];
    tensor_kinds_judge(list, l.count);
    return &l;
}

#define MODEL "w=build/empty/400 b=build/empty/40 "
#define TRAIN                                                                                      \
    "x=other/randn/100 h=forward/addmm/80 t=forward/mul/80 -t y=forward/addmm/60 "                 \
    "loss=other/nll_loss/4 d=backward/mm/60 gw=backward/mm/400 gb=backward/sum/40 -d -h -y "       \
    "tmp=optimizer/sqrt/400 -tmp -gw -gb "

static void a_training_step_is_told_apart(void)
{
    struct life *l = judged(MODEL, TRAIN "m=optimizer/zeros_like/400 -x -loss -m ", 4, "");

    CHECK(are(l, "w", "parameters") && are(l, "b", "parameters"));
    CHECK(are(l, "x", "inputs"));
    CHECK(are(l, "h", "activations") && are(l, "y", "activations"));
    CHECK(are(l, "loss", "activations"));
    CHECK(are(l, "t", "temporaries") && are(l, "d", "temporaries") && are(l, "tmp", "temporaries"));
    CHECK(are(l, "gw", "gradients") && are(l, "gb", "gradients"));
}

static void what_an_optimizer_keeps_is_its_state(void)
{
    struct life *l = judged(MODEL,
                            "x=other/randn/100 h=forward/addmm/80 g=backward/mm/400 -h -g -x "
                            "m=optimizer/zeros_like/400 ",
                            1, TRAIN TRAIN);

    CHECK(are(l, "m", "optimizer state") && are(l, "tmp", "temporaries"));
}

static void gradients_of_several_batches_stay_gradients(void)
{
    struct life *l = judged(MODEL,
                            "x=other/randn/100 h=forward/addmm/80 g=backward/mm/400 -h -x "
                            "x=other/randn/100 h=forward/addmm/80 d=backward/mm/80 -d -h -x "
                            "s=optimizer/add/40 -s -g ",
                            3, "");

    CHECK(are(l, "g", "gradients") && are(l, "h", "activations") && are(l, "d", "temporaries"));
}

#define SECOND_ORDER                                                                               \
    "x=other/randn/100 h=forward/addmm/80 du=backward/mm/70 t=backward/mul/60 -t "                 \
    "r=other/sum/4 gw=backward/mm/400 -du gb=backward/sum/40 -h -r o=optimizer/add/40 -o -gw -gb -x "

static void what_gradients_of_gradients_need_is_an_activation(void)
{
    struct life *l = judged(MODEL, SECOND_ORDER, 3, "");

    CHECK(are(l, "du", "activations") && are(l, "t", "temporaries"));
    CHECK(are(l, "gw", "gradients") && are(l, "gb", "gradients"));
}

static void gradients_that_are_added_up_in_a_new_place_stay_gradients(void)
{
    struct life *l = judged(MODEL,
                            "x=other/randn/100 h=forward/addmm/80 g1=backward/mm/33 -h -x "
                            "x=other/randn/100 h=forward/addmm/80 d=backward/mm/34 "
                            "g=backward/cat:AccumulateGrad/67 -g1 d2=backward/mul/8 -d2 -d -h -x "
                            "s=optimizer/add/40 -s -g ",
                            3, "");

    CHECK(are(l, "g1", "gradients") && are(l, "g", "gradients") && are(l, "d", "temporaries"));
}

static void what_gradients_are_put_together_in_for_other_ranks_counts_as_such(void)
{
    struct life *l = judged(MODEL "first=other/bucket/440 ", TRAIN "-x -loss ", 3, "");

    CHECK(are(l, "first", "gradients") && are(l, "b", "parameters"));
}

/* Gradients of all are one block there, so no size tells. */
static void what_a_rank_has_of_parameters_is_one(void)
{
    struct life *l = judged("part=build/shard/444 pad=build/shard/448 -pad ", TRAIN "-x -loss ", 3,
                            "");

    CHECK(are(l, "part", "parameters") && are(l, "pad", "temporaries"));
    CHECK(are(l, "gw", "gradients"));
}

static void gradients_that_nothing_is_born_after_are_gradients(void)
{
    struct life *l = judged(MODEL,
                            "x=other/randn/100 h=forward/addmm/80 d=backward/mm/60 "
                            "gw=backward/mm/400 t=backward/mul/400 -t gb=backward/sum/40 "
                            "-d -h -gw -gb -x ",
                            4, "");

    CHECK(are(l, "gw", "gradients") && are(l, "gb", "gradients") && are(l, "d", "temporaries"));
    CHECK(are(l, "t", "temporaries") && are(l, "w", "parameters"));
}

/* Each step: a batch that is copied and one that is computed, and what is copied of results. */
#define KEPT                                                                                       \
    "x=other/clone/100 n=other/mul/104 h=forward/addmm/80 k=other/cat/90 j=other/sub/92 "          \
    "f=forward/addmm/84 g=backward/mm/400 -h -f o=optimizer/add/400 -o -g q=other/repeat/96 "      \
    "v=forward/mul/8 -v "

static void copies_of_results_are_not_told_from_data(void)
{
    struct life *l = judged(MODEL, KEPT "-x -n -k -j ", 4, "");

    CHECK(are(l, "x", "inputs") && are(l, "n", "inputs"));
    CHECK(are(l, "k", "other tensors") && are(l, "j", "other tensors"));
    CHECK(l->list[10].bytes == 96 && l->list[10].kind == TENSOR_UNKNOWN);
}

static void what_lasts_is_not_told_from_data_either(void)
{
    struct life *l = judged(MODEL "d=other/clone/5000 e=other/mul/5004 ",
                            KEPT "-x -n -j s=other/clone/70 ", 5, "r=other/cat/300 ");

    CHECK(are(l, "d", "inputs") && are(l, "e", "inputs"));
    CHECK(are(l, "k", "other tensors") && are(l, "s", "other tensors"));
    CHECK(are(l, "r", "other tensors")); /* joined at last, of what was kept */
}

static void a_place_for_what_a_graph_keeps_is_no_input(void)
{
    struct life *l = judged(
        MODEL "z=other/empty/70 ",
        "y=other/empty/64 h=forward/addmm/80 p=other/empty/80 -h "
        "g=backward/mm/400 -p u=backward/mul/8 -u o=optimizer/add/400 -o -g -y ",
        4, "");

    CHECK(are(l, "p", "other tensors") && are(l, "y", "inputs") && are(l, "z", "inputs"));
}

static void what_is_joined_in_training_is_no_cache_at_its_end(void)
{
    struct life *l = judged(MODEL, TRAIN "-x -loss q=other/cat/900 -q ", 3,
                            "q=other/cat/900 v=forward/addmm/80 r=other/cat/900 ");

    CHECK(!are(l, "q", "kv cache") && are(l, "r", "other tensors"));
}

static void what_is_computed_again_is_an_activation(void)
{
    struct life *l = judged(
        MODEL,
        "x=other/randn/100 in=forward/addmm/80 t=forward/mul/70 -t loss=other/sum/4 "
        "g0=backward/mm/9 again=recompute/mul/70 g=backward/mm/400 -again -in -g0 "
        "o=optimizer/add/4 -o -g -x -loss ",
        3, "");

    CHECK(are(l, "again", "activations") && are(l, "t", "temporaries") && are(l, "g", "gradients"));
}

static void parameters_without_a_module_have_gradients(void)
{
    struct life *l = judged("w=other/randn/400 data=other/randn/5000 ", TRAIN "-x -loss ", 4, "");

    CHECK(are(l, "w", "parameters") && are(l, "data", "inputs"));
}

static void a_model_that_was_moved_leaves_temporaries(void)
{
    struct life *l = judged("old=build/empty/800 w=build/_to_copy/400 -old ", TRAIN "-x -loss ", 4,
                            "");

    CHECK(are(l, "old", "temporaries") && are(l, "w", "parameters"));
}

static void a_copy_in_another_dtype_is_what_it_replaces(void)
{
    struct life *l = judged("a=build/empty/640 v=build/to_dtype/320 -a w=build/to_dtype/640 -v "
                            "b=build/tril/88 m=build/to_dtype/44 -b c=build/empty/70 "
                            "n=build/clone/32 -c d=build/empty/70 o=build/tril/70 -d ",
                            TRAIN "-x -loss ", 4, "");

    CHECK(are(l, "a", "temporaries") && are(l, "v", "temporaries") && are(l, "w", "parameters"));
    CHECK(are(l, "m", "buffers") && are(l, "n", "buffers") && are(l, "o", "buffers"));
}

static void what_a_module_computes_once_is_a_buffer(void)
{
    struct life *l = judged(MODEL "mask=build/tril/77 h0=forward/addmm/80 rope=forward/cos/66 -h0 ",
                            TRAIN "-x -loss ", 5, "");

    CHECK(are(l, "mask", "buffers") && are(l, "rope", "buffers"));
}

/* Each word: the cache of two layers is put together, a word is looked up, and the cache put into
 * the order of the beams. */
static struct life *search(int words, int growth)
{
    static struct life l;
    struct tensor *list[MOST];
    char text[200];

    l = (struct life){0};
    live(&l, "w=build/empty/400 k=forward/cat/20 v=forward/cat/20 ");
    for (int i = 0; i < words; i++) {
        int bytes = 20 + i * growth, next = bytes + growth;

        snprintf(text, sizeof(text),
                 "ks=other/index_select/%d vs=other/index_select/%d -k -v e=forward/index_select/8 "
                 "k=forward/cat/%d v=forward/cat/%d -e -ks -vs ",
                 bytes, bytes, next, next);
        live(&l, text);
    }
    live(&l, "best=other/topk/8 ");
    for (uint32_t i = 0; i < l.count; i++) {
        l.list[i].stack = (uint32_t)hash_bytes(l.from[i].phase, l.ops[i], strlen(l.ops[i]));
        list[i] = &l.list[i];
    }
    tensor_kinds_judge(list, l.count);
    return &l;
}

static void a_cache_that_is_put_into_another_order_is_one(void)
{
    struct life *l = search(5, 4);

    CHECK(are(l, "ks", "kv cache") && are(l, "k", "kv cache") && are(l, "v", "kv cache"));
    CHECK(are(l, "vs", "kv cache") && are(l, "e", "temporaries"));
}

static void what_takes_turns_and_does_not_grow_is_none(void)
{
    struct life *l = search(5, 0);

    CHECK(!are(l, "vs", "kv cache") && !are(l, "v", "kv cache"));
}

static void a_cache_that_grows_is_one(void)
{
    struct life l = {0};
    struct tensor *list[MOST];
    char words[120];

    live(&l, "w=build/empty/400 ");
    for (int i = 0; i < 6; i++) {
        snprintf(words, sizeof(words),
                 "t=forward/mul/80 h=forward/addmm/80 -t kv=other/cat/500 %s -h r=other/sum/9 ",
                 i ? "-old" : "");
        live(&l, words);
        for (uint32_t k = 0; k < l.count; k++)
            if (!strcmp(l.names[k], "kv"))
                snprintf(l.names[k], sizeof(l.names[k]), "old");
    }
    for (uint32_t i = 0; i < l.count; i++)
        list[i] = &l.list[i];
    tensor_kinds_judge(list, l.count);
    CHECK(are(&l, "old", "kv cache") && are(&l, "w", "parameters"));
    CHECK(are(&l, "t", "temporaries") && are(&l, "h", "activations") &&
          are(&l, "r", "other tensors"));
}

/* Between two calls of the model nothing of 4 KiB is made. */
static void results_that_are_gathered_are_no_temporaries(void)
{
    const char *start = "w=build/empty/400 ", *call = "x=forward/embed/80 h=forward/mul/80 -x ";
    char kept[120], replaced[120];

    snprintf(kept, sizeof(kept), "%sy=forward/addmm/90 -h ", call);
    snprintf(replaced, sizeof(replaced), "%sz=forward/addmm/90 -h -z ", call);
    CHECK(are(judged(start, kept, 6, ""), "y", "activations"));
    CHECK(are(judged(start, kept, 6, ""), "x", "temporaries") &&
          are(judged(start, kept, 6, ""), "h", "temporaries"));
    CHECK(are(judged(start, replaced, 6, "z=forward/addmm/90 "), "z", "temporaries"));
    CHECK(are(judged(start, kept, 6, ""), "w", "parameters"));
}

static void nothing_at_all_is_no_mistake(void)
{
    tensor_kinds_judge(NULL, 0);
    CHECK(judged("w=build/empty/400 ", "", 0, "")->list[0].kind == TENSOR_PARAMETER);
}

/* ---- steps ---- */

static uint64_t line_of(const struct op_stack *o, const char *name)
{
    if (!strncmp(name, "in_", 3) || !strncmp(name, "at", 2))
        return 2;
    if (!strncmp(name, "hook_", 5))
        return 1;
    return o->phase >= OP_PHASE_BACKWARD ? 1 + (o->phase == OP_PHASE_OPTIMIZER) + 2 * o->site.line
                                         : 0;
}

/* Names tell more: in_x is made within an optimizer's line, at7_x by line 7 of its own step, hook_x
 * within one of gradients, two_x by another thread. */
static size_t steps_of(const char *setup, const char *step, int steps, const char *end,
                       enum step_how *how)
{
    struct life *l = judged(setup, step, steps, end);
    struct step_birth births[MOST];
    uint64_t ends[MOST];

    for (uint32_t i = 0; i < l->count; i++) {
        if (!strncmp(l->names[i], "at", 2))
            l->from[i].step_line = (uint64_t)atoi(l->names[i] + 2);
        births[i] = (struct step_birth){.time_ns = l->list[i].born_ns,
                                        .process = 1,
                                        .thread = strncmp(l->names[i], "two_", 4) ? 1 : 2,
                                        .stack = l->list[i].stack,
                                        .order = i,
                                        .from = &l->from[i],
                                        .line = line_of(&l->from[i], l->names[i])};
    }
    return step_find_ends(births, l->count, ends, how);
}

static void steps_end_where_an_optimizer_is_left(void)
{
    enum step_how how;

    CHECK(steps_of(MODEL, TRAIN "-x -loss ", 7, "", &how) == 7 && how == STEP_BY_OPTIMIZER);
    CHECK(steps_of(MODEL, TRAIN "-x -loss ", 7, "e=forward/addmm/80 ", &how) == 7);
    CHECK(steps_of(MODEL, TRAIN "-x -loss ", 2, "", &how) == 0);
}

static void of_two_optimizers_the_last_ends_a_step(void)
{
    enum step_how how;

    CHECK(steps_of(MODEL,
                   "f=forward/mm/80 g=backward/mm/40 a=optimizer/sqrt/40@5 f=forward/mm/80 "
                   "g=backward/mm/40 b=optimizer/sqrt/40@9 ",
                   5, "", &how) == 5);
    CHECK(how == STEP_BY_OPTIMIZER);
}

static void what_an_optimizer_calls_is_of_its_step(void)
{
    enum step_how how;
#define CLOSURE "in_h=forward/mm/80 in_g=backward/mm/40 "

    CHECK(steps_of(MODEL,
                   CLOSURE "m=optimizer/clone/40 " CLOSURE "m=optimizer/clone/40 " CLOSURE
                           "m=optimizer/clone/40 x=other/randn/80@4 ",
                   5, "", &how) == 5);
    CHECK(how == STEP_BY_OPTIMIZER);
}

/* Of what its closures make nothing is a step, nor are the three layers that were made before. */
static void steps_that_are_never_left_are_not_counted(void)
{
    enum step_how how;

    CHECK(steps_of("w=build/empty/400 w=build/empty/400 w=build/empty/400 ",
                   "in_h=forward/mm/80 in_g=backward/mm/40 in_h=forward/mm/80 in_g=backward/mm/40 ",
                   5, "", &how) == 0);
}

static void an_optimizer_that_makes_everything_has_as_many_steps_as_calls(void)
{
    enum step_how how;
#define FIRST "at3_h=forward/mm/80 at3_g=backward/mm/40 "
#define AGAIN "at9_d=optimizer/neg/40 at12_h=forward/mm/80 at12_g=backward/mm/40 "

    CHECK(steps_of(MODEL, FIRST AGAIN AGAIN, 5, "", &how) == 5 && how == STEP_BY_OPTIMIZER);
    CHECK(steps_of(MODEL, FIRST AGAIN, 2, FIRST AGAIN AGAIN AGAIN, &how) == 3);
    CHECK(steps_of(MODEL, FIRST AGAIN, 2, "", &how) == 0);
    CHECK(steps_of(MODEL, FIRST, 5, "", &how) == 0); /* nothing tells them apart */
    /* One that has ended at once, and the one after it: or a closure that has made more? */
    CHECK(steps_of(MODEL, FIRST AGAIN, 4, FIRST FIRST AGAIN, &how) == 0);
}

static void an_optimizer_in_a_hook_makes_no_steps_of_its_own(void)
{
    enum step_how how;
#define HOOK "g=backward/mm/40 hook_s=optimizer/sqrt/40 "

    CHECK(steps_of(MODEL, "h=forward/mm/80 " HOOK HOOK HOOK, 5, "", &how) == 5);
    CHECK(how == STEP_BY_OPTIMIZER);
}

static void loops_that_follow_each_other_all_count(void)
{
    enum step_how how;
#define ONE(line) "h=forward/mm/80 g=backward/mm/40 s=optimizer/sqrt/40@" #line " "
#define FOUR(line) ONE(line) ONE(line) ONE(line) ONE(line)

    CHECK(steps_of(MODEL, FOUR(5), 1, FOUR(7) FOUR(9), &how) == 12 && how == STEP_BY_OPTIMIZER);
    CHECK(steps_of(MODEL, FOUR(5) FOUR(7), 3, "", &how) == 24);
    CHECK(steps_of(MODEL, ONE(5) ONE(5) ONE(7), 4, "", &how) == 8); /* they take turns */
}

static void a_cache_that_is_small_at_first_hides_no_steps(void)
{
    enum step_how how;
#define TOKEN "l=forward/head/80 "

    CHECK(steps_of(MODEL TOKEN TOKEN TOKEN, "k=other/cat/80 v=other/cat/90 " TOKEN, 8, "", &how) ==
          11);
    CHECK(how == STEP_BY_PATTERN);
}

static void threads_do_not_end_steps_of_each_other(void)
{
    enum step_how how;

    CHECK(steps_of(MODEL,
                   "h=forward/mm/80 two_h=forward/mm/80 g=backward/mm/40 s=optimizer/sqrt/40 "
                   "two_g=backward/mm/40 s=optimizer/sqrt/40 two_s=optimizer/sqrt/40 "
                   "s=optimizer/sqrt/40 two_s=optimizer/sqrt/40 ",
                   5, "", &how) == 5);
    CHECK(how == STEP_BY_OPTIMIZER);
    CHECK(steps_of(MODEL,
                   "two_h=forward/mm/80 g=backward/mm/40 two_g=backward/mm/40 g=backward/mm/40 "
                   "h=forward/mm/80 two_h=forward/mm/80 two_g=backward/mm/40 ",
                   5, "", &how) == 10);
    CHECK(how == STEP_BY_BACKWARD);
}

static void one_that_allocates_once_is_not_asked(void)
{
    enum step_how how;

    CHECK(steps_of(MODEL "h=forward/addmm/80 g=backward/mm/40 m=optimizer/clone/40 ",
                   "h=forward/addmm/80 g=backward/mm/40 ", 6, "", &how) == 7);
    CHECK(how == STEP_BY_BACKWARD);
}

static void a_pause_to_evaluate_is_no_step(void)
{
    enum step_how how;
#define STEP "h=forward/addmm/80 g=backward/mm/40 "

    CHECK(steps_of(MODEL, STEP STEP STEP "e=forward/addmm/80@7 e=forward/relu/80@7 ", 4, "",
                   &how) == 12);
    CHECK(how == STEP_BY_BACKWARD);
}

static void tokens_are_found_among_layers(void)
{
    enum step_how how;
#define LAYER "q=forward/addmm/80 k=other/cat/80 o=forward/mul/80 "

    CHECK(steps_of(MODEL, "e=forward/embedding/80 " LAYER LAYER LAYER LAYER "t=forward/head/80 ", 6,
                   "", &how) == 6);
    CHECK(how == STEP_BY_PATTERN);
    CHECK(steps_of(MODEL, "", 0, "a=other/add/5 b=other/mul/5 c=other/mm/5 ", &how) == 0);
}

/* ---- rules ---- */

static struct op_found found(const char *function, const char *file, bool python)
{
    struct table_frame f = {.function = function, .flags = python ? TABLE_FRAME_PYTHON : 0};

    *(python ? &f.file : &f.module) = file;
    return op_rules_find(&f);
}

static bool names(struct op_found f, enum op_meaning meaning, const char *name)
{
    return f.meaning == meaning && f.length == strlen(name) && !memcmp(f.name, name, f.length);
}

static void frames_of_torch_are_known(void)
{
#define NN "/x/site-packages/torch/nn/modules/"
    CHECK(names(found("at::_ops::add_Tensor::call(at::Tensor const&)", "/x/libtorch_cpu.so", false),
                OP_NAMED, "add_Tensor"));
    CHECK(names(found("torch::autograd::generated::MmBackward0::apply(std::vector<at::Tensor>&&)",
                      NULL, false),
                OP_NODE, "MmBackward0"));
    CHECK(found("c10::alloc_cpu(unsigned long)", "/x/libc10.so", false).meaning == OP_TENSOR);
    CHECK(found("something", "/x/torch/lib/libtorch_cpu.so", false).meaning == OP_FRAMEWORK);
    CHECK(found("Module._call_impl", NN "module.py", true).meaning == OP_CALL);
    CHECK(found("Module._apply", NN "module.py", true).meaning == OP_BUILD);
    CHECK(names(found("Linear.__init__", NN "linear.py", true), OP_BUILD, "Linear"));
    CHECK(names(found("main.<locals>.Net.__init__", "/home/u/a.py", true), OP_MADE, "Net"));
    CHECK(found("Adam.step", "/x/torch/optim/adam.py", true).meaning == OP_OPTIMIZER);
    CHECK(found("AveragedModel.__init__", "/x/torch/optim/swa_utils.py", true).meaning == OP_BUILD);
    CHECK(found("update", "/x/torch/optim/swa_utils.py", true).meaning == OP_FRAMEWORK);
    CHECK(
        found("c10d::Reducer::initialize_buckets(std::vector<int>&&)", "/x/libtorch_cpu.so", false)
            .meaning == OP_BUCKET);
    CHECK(found("FSDPParam._init_sharded_param",
                "/x/torch/distributed/fsdp/_fully_shard/_fsdp_param.py", true)
              .meaning == OP_SHARD);
    CHECK(found("train", "/home/u/a.py", true).meaning == OP_NOTHING);
    CHECK(found("at::_ops::::call(", NULL, false).meaning == OP_NOTHING);
    CHECK(found(NULL, NULL, false).meaning == OP_NOTHING);
}

static void the_name_of_an_operator_tells_whether_it_declares_a_write(void)
{
    static const char *const declared[] = {"add_",
                                           "mul__Tensor",
                                           "copy_",
                                           "fill__Scalar",
                                           "_foreach_add__List",
                                           "_fused_adam_",
                                           "add_out",
                                           "_index_put_impl_",
                                           "__iand___Tensor",
                                           "sort_values",
                                           "mean_dtype_out",
                                           "sub__Scalar",
                                           "relu_",
                                           "tanh_backward_grad_input"};
    static const char *const nothing[] = {
        "add_Tensor",           "mm",     "_to_copy",       "__and___Tensor",
        "_foreach_norm_Scalar", "linear", "sum_dim_IntList"};

    for (size_t i = 0; i < sizeof(declared) / sizeof(declared[0]); i++)
        CHECK(op_rules_writes(declared[i]) == OP_WRITES_DECLARED);
    for (size_t i = 0; i < sizeof(nothing) / sizeof(nothing[0]); i++)
        CHECK(op_rules_writes(nothing[i]) == OP_WRITES_NOTHING);
    CHECK(op_rules_writes("native_batch_norm") == OP_WRITES_UNKNOWN);
    CHECK(op_rules_writes(NULL) == OP_WRITES_UNKNOWN && op_rules_writes("") == OP_WRITES_UNKNOWN);
}

int main(void)
{
    static const struct check_test tests[] = {
        {"a training step is told apart", a_training_step_is_told_apart},
        {"what an optimizer keeps is its state", what_an_optimizer_keeps_is_its_state},
        {"gradients of several batches stay gradients",
         gradients_of_several_batches_stay_gradients},
        {"what a rank has of parameters is one", what_a_rank_has_of_parameters_is_one},
        {"gradients that nothing is born after are gradients",
         gradients_that_nothing_is_born_after_are_gradients},
        {"copies of results are not told from data", copies_of_results_are_not_told_from_data},
        {"what lasts is not told from data either", what_lasts_is_not_told_from_data_either},
        {"a place for what a graph keeps is no input", a_place_for_what_a_graph_keeps_is_no_input},
        {"what is joined in training is no cache at its end",
         what_is_joined_in_training_is_no_cache_at_its_end},
        {"what is computed again is an activation", what_is_computed_again_is_an_activation},
        {"parameters without a module have gradients", parameters_without_a_module_have_gradients},
        {"a model that was moved leaves temporaries", a_model_that_was_moved_leaves_temporaries},
        {"a copy in another dtype is what it replaces",
         a_copy_in_another_dtype_is_what_it_replaces},
        {"what a module computes once is a buffer", what_a_module_computes_once_is_a_buffer},
        {"a cache that grows is one", a_cache_that_grows_is_one},
        {"what gradients of gradients need is an activation",
         what_gradients_of_gradients_need_is_an_activation},
        {"gradients that are added up in a new place stay gradients",
         gradients_that_are_added_up_in_a_new_place_stay_gradients},
        {"what gradients are put together in for other ranks counts as such",
         what_gradients_are_put_together_in_for_other_ranks_counts_as_such},
        {"a cache that is put into another order is one",
         a_cache_that_is_put_into_another_order_is_one},
        {"results that are gathered are no temporaries",
         results_that_are_gathered_are_no_temporaries},
        {"what takes turns and does not grow is none", what_takes_turns_and_does_not_grow_is_none},
        {"nothing at all is no mistake", nothing_at_all_is_no_mistake},
        {"steps end where an optimizer is left", steps_end_where_an_optimizer_is_left},
        {"of two optimizers the last ends a step", of_two_optimizers_the_last_ends_a_step},
        {"what an optimizer calls is of its step", what_an_optimizer_calls_is_of_its_step},
        {"steps that are never left are not counted", steps_that_are_never_left_are_not_counted},
        {"an optimizer that makes everything has as many steps as calls",
         an_optimizer_that_makes_everything_has_as_many_steps_as_calls},
        {"an optimizer in a hook makes no steps of its own",
         an_optimizer_in_a_hook_makes_no_steps_of_its_own},
        {"loops that follow each other all count", loops_that_follow_each_other_all_count},
        {"a cache that is small at first hides no steps",
         a_cache_that_is_small_at_first_hides_no_steps},
        {"threads do not end steps of each other", threads_do_not_end_steps_of_each_other},
        {"one that allocates once is not asked", one_that_allocates_once_is_not_asked},
        {"a pause to evaluate is no step", a_pause_to_evaluate_is_no_step},
        {"tokens are found among layers", tokens_are_found_among_layers},
        {"frames of torch are known", frames_of_torch_are_known},
        {"the name of an operator tells whether it declares a write",
         the_name_of_an_operator_tells_whether_it_declares_a_write},
    };

    return check_run(tests, sizeof(tests) / sizeof(tests[0]));
}
