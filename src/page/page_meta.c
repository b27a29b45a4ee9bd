/* page_meta - the section META: all that is not by leaf, as JSON; see docs/PAGE.md. */
#include "page/page.h"
#include "page/page_json.h"

#include "model/covered.h"
#include "model/heap_counts.h"

#include <stdlib.h>
#include <string.h>

/* ---- the grid ---- */

static void put_edges(struct emit *j, const struct heap_edges *g)
{
    uint64_t before = 0;

    emit_key(j, "grid");
    emit_open(j, '{');
    emit_key(j, "t");
    emit_open(j, '[');
    for (int i = 0; i < g->count; i++) {
        emit_number(j, us(g->list[i].time_ns) - before);
        before = us(g->list[i].time_ns);
    }
    emit_close(j, ']');
    emit_key(j, "heap");
    emit_open(j, '[');
    for (int i = 0; i < g->count; i++)
        emit_number(j, g->list[i].bytes);
    emit_close(j, ']');
    emit_key(j, "quiet");
    emit_open(j, '[');
    for (int i = 0; i < g->count; i++)
        if (heap_edge_is_quiet(&g->list[i]))
            emit_number(j, (uint64_t)i);
    emit_close(j, ']');
    emit_key(j, "peak");
    emit_signed(j, heap_edges_peak(g));
    emit_close(j, '}');
}

static void put_fine(struct emit *j, const struct heap_edges *g)
{
    emit_key(j, "stretch");
    if (g->finer) {
        emit_open(j, '{');
        put_number(j, "from", us(g->from_ns));
        put_number(j, "to", us(g->to_ns));
        emit_close(j, '}');
    } else {
        emit_null(j);
    }
    emit_key(j, "fine");
    emit_open(j, '{');
    for (int low = 0; low < 2; low++) {
        emit_key(j, low ? "lo" : "hi");
        emit_open(j, '[');
        for (int i = 0; g->any && i < HEAP_EDGES_BINS; i++)
            emit_number(j, low ? g->low[i] : g->high[i]);
        emit_close(j, ']');
    }
    emit_close(j, '}');
}

/* ---- peaks ---- */

static const char *basis_of(struct arena *a, const struct heap *h)
{
    double error = heap_whole_error(h, &h->peak);
    const char *basis = h->sampled ? arena_printf(a, "sampled, ±%.1f %%", error) : "exact";

    return lacking_said(&h->run->lacking, a, basis);
}

static void put_peaks(struct emit *j, struct page *p)
{
    const struct heap *h = &p->recorded->heap;
    const struct run *r = &p->recorded->run;
    uint64_t lower, upper;

    emit_key(j, "peak_heap");
    if (h->any) {
        emit_open(j, '{');
        put_number(j, "bytes", h->peak.bytes);
        put_number(j, "time", us(h->peak_ns));
        put_text(j, "basis", basis_of(&p->recorded->arena, h));
        put_bool(j, "of_several", h->peak_of_several);
        emit_close(j, '}');
    } else {
        emit_null(j);
    }
    emit_key(j, "peak_rss");
    if (!metrics_get(&r->final, METRIC_PEAK_LOWER, &lower)) {
        emit_null(j);
        return;
    }
    emit_open(j, '{');
    put_number(j, "lower", lower);
    emit_key(j, "upper");
    if (metrics_get(&r->final, METRIC_PEAK_UPPER, &upper))
        emit_number(j, upper);
    else
        emit_null(j);
    put_text(j, "basis", names_find(r->names, TRACE_OF_RUN, FACT_PEAK_BASIS));
    emit_close(j, '}');
}

/* ---- what is lacking ---- */

static void put_losses(struct emit *j, const struct run *r)
{
    emit_key(j, "losses");
    emit_open(j, '[');
    for (uint64_t i = 0; i < r->loss_count && i < RUN_EVENTS_MOST; i++) {
        const struct run_loss *l = &r->losses[i];

        emit_open(j, '{');
        put_number(j, "time", us(l->time_ns));
        put_place(j, "process", l->process && l->process->place < PAGE_PROCESSES_MOST,
                  l->process ? l->process->place : 0);
        put_text(j, "what", l->reason);
        put_known(j, "count", l->has_count, l->count);
        put_known(j, "bytes", l->has_bytes, l->bytes);
        emit_close(j, '}');
    }
    emit_close(j, ']');
}

static void put_pairing(struct emit *j, const struct heap_pairing *p)
{
    emit_key(j, "pairing");
    emit_open(j, '{');
    put_number(j, "named", p->named);
    put_number(j, "aged", p->aged);
    put_number(j, "ambiguous", p->ambiguous);
    put_number(j, "fallback", p->fallback);
    emit_close(j, '}');
}

static void put_unnamed(struct emit *j, const struct frames *f)
{
    emit_key(j, "unnamed");
    emit_open(j, '[');
    for (size_t i = 1; i <= f->module_count && i < f->unnamed_room; i++)
        if (f->unnamed[i])
            emit_text(j, f->unnamed[i]);
    emit_close(j, ']');
}

/* ---- leaks ---- */

static void put_verdicts(struct emit *j, const struct page *p, const struct page_words *w)
{
    emit_key(j, "verdicts");
    emit_open(j, '[');
    for (int i = 0; i < w->verdict_count; i++) {
        const struct page_verdict *v = &w->verdicts[i];

        if (!p->line_places[v->line])
            continue;
        emit_open(j, '{');
        put_number(j, "line", p->line_places[v->line]);
        put_text(j, "verdict", v->verdict);
        emit_key(j, "confidence");
        emit_real(j, v->confidence);
        emit_key(j, "per_second");
        emit_real(j, v->per_second);
        emit_close(j, '}');
    }
    emit_close(j, ']');
    emit_key(j, "suppressed");
    if (!w->known_leaks.milliblocks) {
        emit_null(j);
        return;
    }
    emit_open(j, '{');
    put_number(j, "blocks", heap_blocks(&w->known_leaks));
    put_number(j, "bytes", w->known_leaks.bytes);
    emit_close(j, '}');
}

/* ---- facts ---- */

static void put_fact(struct emit *j, const char *name, uint64_t value, const char *unit,
                     const char *basis)
{
    emit_open(j, '{');
    put_text(j, "name", name);
    put_number(j, "value", value);
    put_text(j, "unit", unit);
    put_text(j, "basis", basis);
    emit_close(j, '}');
}

static void put_said(struct emit *j, const char *name, const char *text)
{
    if (!text)
        return;
    emit_open(j, '{');
    put_text(j, "name", name);
    put_text(j, "value", text);
    put_text(j, "unit", "text");
    put_text(j, "basis", NULL);
    emit_close(j, '}');
}

static void put_heap_facts(struct emit *j, struct page *p)
{
    const struct heap *h = &p->recorded->heap;
    const char *basis = lacking_said(&h->run->lacking, &p->recorded->arena,
                                     h->sampled ? "sampled" : "exact");

    if (!h->any)
        return;
    put_fact(j, "peak heap", h->peak.bytes, "bytes", basis);
    put_fact(j, "peak heap at", h->peak_ns, "ns", basis);
    put_fact(j, "allocated", h->sums.allocated.bytes, "bytes", basis);
    put_fact(j, "allocations", heap_blocks(&h->sums.allocated), "count", basis);
    put_fact(j, "alive when processes ended", h->sums.live.bytes, "bytes", basis);
    put_fact(j, "frees of blocks not seen to live", h->unknown_frees, "count", "measured");
    if (h->maps)
        put_fact(j, "mappings made", h->maps, "count",
                 lacking_said(&h->run->lacking, &p->recorded->arena, "exact"));
}

static void put_lost_facts(struct emit *j, const struct run *r)
{
    if (r->lacking.events)
        put_fact(j, "events lost", r->lacking.events, "count", "lost");
    if (r->late)
        put_fact(j, "looks left out", r->late, "count", "lost");
    if (r->pauses)
        put_fact(j, "paused", r->paused_ns, "ns", "lost");
}

static void put_facts(struct emit *j, struct page *p)
{
    const struct run *r = &p->recorded->run;
    uint64_t value;

    emit_key(j, "facts");
    emit_open(j, '[');
    put_fact(j, "duration", run_duration(r), "ns", "measured");
    if (run_total(r, METRIC_CPU_NS, &value))
        put_fact(j, "CPU time", value, "ns", "measured");
    if (metrics_get(&r->final, METRIC_PEAK_LOWER, &value))
        put_fact(j, "peak resident memory, at least", value, "bytes", "bound");
    if (metrics_get(&r->final, METRIC_PEAK_UPPER, &value))
        put_fact(j, "peak resident memory, at most", value, "bytes", "bound");
    put_heap_facts(j, p);
    put_fact(j, "processes", r->process_count, "count", "measured");
    put_fact(j, "samples of the kernel's numbers", r->ticks, "count", "measured");
    put_lost_facts(j, r);
    put_said(j, "working directory", names_find(r->names, TRACE_OF_RUN, FACT_CWD));
    put_said(j, "recorded by tidemark", names_find(r->names, TRACE_OF_RUN, FACT_VERSION));
    put_said(j, "allocations recorded", names_find(r->names, TRACE_OF_RUN, FACT_RECORDED));
    put_said(j, "processes watched by", names_find(r->names, TRACE_OF_RUN, FACT_MODE));
    put_said(j, "machine", names_find(r->names, TRACE_OF_MACHINE, FACT_HOSTNAME));
    put_said(j, "kernel", names_find(r->names, TRACE_OF_MACHINE, FACT_KERNEL));
    put_said(j, "CPUs", names_find(r->names, TRACE_OF_MACHINE, FACT_CPUS));
    put_said(j, "Python", r->pythons);
    emit_close(j, ']');
}

/* ---- all of it ---- */

static void put_has(struct emit *j, const struct page *p, const struct page_words *w)
{
    const struct line_sums *s = p->lines;

    emit_key(j, "has");
    emit_open(j, '{');
    put_bool(j, "cpu", !p->beside && s->cpu_known);
    put_bool(j, "waits", !p->beside && s->waits_known);
    put_bool(j, "copies", !p->beside && s->copies_known);
    put_bool(j, "maps", p->whole.of[MEASURE_MAPS].count);
    put_bool(j, "lines", p->line_count);
    put_bool(j, "source", w->source_count);
    emit_close(j, '}');
}

static void put_header(struct emit *j, const struct page *p, const struct page_words *w)
{
    const struct run *r = &p->recorded->run;
    const struct heap *h = &p->recorded->heap;
    const struct table_coverage *c = covered(r);

    put_number(j, "version", 1);
    put_text(j, "tool", TIDEMARK_VERSION);
    put_text(j, "trace", w->trace);
    put_number(j, "trace_bytes", trace_size(p->recorded->trace));
    put_number(j, "started", trace_header(p->recorded->trace)->real_ns / 1000000);
    put_number(j, "duration", us(p->edges.last_ns));
    put_text(j, "command", names_find(r->names, TRACE_OF_RUN, FACT_COMMAND));
    put_text(j, "outcome", names_find(r->names, TRACE_OF_RUN, FACT_OUTCOME));
    put_text(j, "sentence", w->sentence);
    put_text(j, "asked", w->asked);
    put_bool(j, "sampled", h->sampled);
    put_bool(j, "heap", h->any);
    put_has(j, p, w);
    put_number(j, "events", h->events);
    put_number(j, "stacks", p->recorded->frames.stack_count);
    emit_key(j, "eps");
    emit_real(j, p->folded_below);
    put_number(j, "parts", (uint64_t)p->parts);
    put_text(j, "health", r->health);
    put_text(j, "coverage", c ? c->line : NULL);
    put_text(j, "left_out", w->left_out);
}

static void put_folded(struct emit *j, const struct page *p)
{
    emit_key(j, "folded");
    emit_open(j, '{');
    put_number(j, "nodes", p->whole.node_count);
    put_number(j, "leaves", p->whole.count);
    emit_close(j, '}');
}

void page_meta(struct page *p, const struct page_words *w, struct pack *to)
{
    char *text = NULL;
    size_t bytes = 0;
    struct emit j = {.out = open_memstream(&text, &bytes), .first = true, .flat = true};
    struct bytes out = {0};

    if (!j.out)
        return;
    emit_open(&j, '{');
    put_header(&j, p, w);
    put_folded(&j, p);
    put_edges(&j, &p->edges);
    put_fine(&j, &p->edges);
    put_peaks(&j, p);
    page_people(&j, p);
    if (!p->beside) { /* what the first has for all of them */
        page_series(&j, p);
        page_spaces(&j, w);
    }
    emit_key(&j, "findings");
    if (w->findings)
        w->findings(&j, w->context);
    else
        emit_null(&j);
    emit_key(&j, "tensors");
    if (w->tensors)
        w->tensors(&j, w->tensors_context);
    else
        emit_null(&j);
    put_verdicts(&j, p, w);
    put_facts(&j, p);
    put_losses(&j, &p->recorded->run);
    put_unnamed(&j, &p->recorded->frames);
    put_pairing(&j, &p->entries.pairing);
    emit_close(&j, '}');
    fclose(j.out);
    bytes_put(&out, text, bytes);
    free(text);
    pack_bytes(to, "META", &out);
}
