/* Tables, timelines that are thinned, cells as text, and charts that lose no peak. */
#include "check.h"

#include "questions/points.h"
#include "questions/question.h"
#include "report/chart.h"
#include "report/formats.h"
#include "report/show.h"

#include <stdlib.h>

static const struct table_column columns[] = {
    {"time", UNIT_NS}, {"rss", UNIT_BYTES}, {"cpu_percent", UNIT_PERCENT}, {"name", UNIT_TEXT}};

static struct arena arena;
static struct answer answer;

static struct table *fresh(enum table_shape shape)
{
    arena_free(&arena);
    answer = (struct answer){.arena = &arena, .question = "test"};
    return answer_add(&answer, "t", shape, columns, 4);
}

static struct table_cell *at(const struct table *t, int row, int column)
{
    return &t->cells[row * t->width + column];
}

static void add(struct table *t, uint64_t time, uint64_t rss, double percent)
{
    struct table_cell *c = table_add(&answer, t);

    cell_number(&c[0], time);
    cell_number(&c[1], rss);
    cell_real(&c[2], percent);
}

static void test_growth(void)
{
    struct table *t = fresh(TABLE_ROWS), *other;

    for (uint64_t i = 0; i < 1000; i++)
        add(t, i, i * i, 1);
    other = answer_add(&answer, "other", TABLE_ROWS, columns, 4);
    CHECK_EQ(answer.count, 2);
    CHECK(answer.tables[0] == t && answer.tables[1] == other);
    CHECK_EQ(t->rows, 1000);
    CHECK_EQ(at(t, 999, 1)->number, 999 * 999);
    CHECK(!at(t, 999, 3)->present);
    CHECK_EQ(at(t, 999, 1)->unit, UNIT_BYTES);
    cell_text(at(t, 0, 3), NULL);
    CHECK(!at(t, 0, 3)->present);
}

static void test_facts(void)
{
    struct table *t = fresh(TABLE_FACTS);

    t->width = 2;
    cell_number(table_fact(&answer, t, "size", UNIT_BYTES), 7);
    table_fact(&answer, t, "missing", UNIT_NS);
    CHECK_STR(at(t, 0, 0)->text, "size");
    CHECK_EQ(at(t, 0, 1)->unit, UNIT_BYTES);
    CHECK_EQ(at(t, 0, 1)->number, 7);
    CHECK(!at(t, 1, 1)->present);
    CHECK_EQ(at(t, 1, 1)->unit, UNIT_NS);
}

static void test_sort(void)
{
    struct table *t = fresh(TABLE_ROWS);

    add(t, 0, 5, 0.5);
    table_add(&answer, t); /* all absent: last */
    add(t, 2, 9, 0.1);
    add(t, 3, 5, 0.7);
    add(t, 4, 9, 0.2);
    table_sort(t, 1);
    CHECK_EQ(at(t, 0, 0)->number, 2);
    CHECK_EQ(at(t, 1, 0)->number, 4);
    CHECK_EQ(at(t, 2, 0)->number, 0);
    CHECK_EQ(at(t, 3, 0)->number, 3);
    CHECK(!at(t, 4, 0)->present);
    table_sort(t, 2);
    CHECK_EQ(at(t, 0, 0)->number, 3);
    CHECK_EQ(at(t, 3, 0)->number, 2);
    table_sort(fresh(TABLE_ROWS), 1);
}

static void test_halve(void)
{
    struct table *t = fresh(TABLE_TIMELINE);

    add(t, 10, 1, 5);
    add(t, 20, 9, 2);
    add(t, 30, 7, 1);
    add(t, 40, 3, 8);
    add(t, 50, 4, 4);
    table_halve(t);
    CHECK_EQ(t->rows, 3);
    CHECK_EQ(at(t, 0, 0)->number, 20); /* when the first number was larger */
    CHECK_EQ(at(t, 0, 1)->number, 9);
    CHECK(at(t, 0, 2)->real > 4.9);
    CHECK_EQ(at(t, 1, 0)->number, 30);
    CHECK(at(t, 1, 2)->real > 7.9);
    CHECK_EQ(at(t, 2, 0)->number, 50);
    table_fold(t);
    CHECK_EQ(t->rows, 2);
    CHECK_EQ(at(t, 1, 0)->number, 30);
}

static void test_points(void)
{
    struct points p = {.answer = &answer, .table = fresh(TABLE_TIMELINE), .most = 64};
    uint64_t longest = 0;
    bool found = false;

    for (uint64_t i = 0; i < 1000; i++) {
        struct table_cell *c = points_add(&p);

        cell_number(&c[0], i);
        cell_number(&c[1], i == 777 ? 5000 : 10);
        points_done(&p);
        CHECK(p.table->rows <= 64);
    }
    for (int i = 0; i < p.table->rows; i++) {
        uint64_t gap = i ? at(p.table, i, 0)->number - at(p.table, i - 1, 0)->number : 0;

        longest = gap > longest ? gap : longest;
        if (at(p.table, i, 1)->number == 5000)
            found = at(p.table, i, 0)->number == 777;
    }
    CHECK(found);
    CHECK(p.table->rows > 31);
    CHECK(longest <= 2 * 32); /* everywhere equally fine, not coarser at the beginning */
}

static const char *shown(enum table_unit unit, uint64_t number, double real)
{
    static char text[SHOW_ROOM];
    struct table_cell c = {.present = true, .unit = (uint8_t)unit};

    if (unit == UNIT_PERCENT || unit == UNIT_REAL)
        c.real = real;
    else
        c.number = number;
    return show_cell(text, &c);
}

static void test_show(void)
{
    struct table_cell absent = {.unit = UNIT_BYTES};
    struct table_cell time = {.unit = UNIT_REAL, .present = true, .real = 3002.204356353};
    char text[SHOW_ROOM];

    CHECK_STR(shown(UNIT_COUNT, 1234567, 0), "1,234,567");
    CHECK_STR(shown(UNIT_COUNT, 999, 0), "999");
    CHECK_STR(shown(UNIT_COUNT, UINT64_MAX, 0), "18,446,744,073,709,551,615");
    CHECK_STR(shown(UNIT_ID, 1234567, 0), "1234567");
    CHECK_STR(shown(UNIT_BYTES, 1536, 0), "1.5 KiB");
    CHECK_STR(shown(UNIT_NS, 0, 0), "0 s");
    CHECK_STR(shown(UNIT_PERCENT, 0, 12.34), "12.3 %");
    CHECK_STR(show_cell(text, &absent), "n/a");
    CHECK_STR(show_plain(text, &absent), "");
    CHECK_STR(show_plain(text, &time), "3002.204356353");
}

/* Draw `t` as text that is `columns` wide; the caller frees it. */
static char *drawn(int columns_wide, bool utf8)
{
    char *text = NULL, number[16];
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);

    snprintf(number, sizeof(number), "%d", columns_wide);
    setenv("COLUMNS", number, 1);
    setenv("LC_ALL", utf8 ? "C.UTF-8" : "C", 1);
    format_text.write(&answer, out);
    fclose(out);
    return text;
}

static size_t widest(const char *text)
{
    size_t n = 0, most = 0;

    for (; *text; text++) {
        n = *text == '\n' ? 0 : n + (((unsigned char)*text & 0xc0) != 0x80);
        most = n > most ? n : most;
    }
    return most;
}

/* One sample of 50 000 is large: whatever the width, it reaches the top of the chart. */
static void test_chart_peak(void)
{
    struct table *t = fresh(TABLE_TIMELINE);

    for (uint64_t i = 0; i < 50000; i++)
        add(t, i * 1000000, i == 31234 ? 800u << 20 : 1u << 20, 1);
    for (int wide = 20; wide <= 200; wide += 36) {
        char *text = drawn(wide, wide % 40 != 0), *top;

        CHECK(strstr(text, "largest 800.0 MiB at 31.23 s"));
        top = strstr(text, "800 MiB");
        if (CHECK(top != NULL)) {
            top[strcspn(top, "\n")] = '\0';
            CHECK(strstr(top, wide % 40 != 0 ? "█" : "#"));
        }
        free(text);
    }
}

static void test_chart_fits(void)
{
    struct table *t = fresh(TABLE_TIMELINE);

    for (uint64_t i = 0; i < 300; i++)
        add(t, i * 100000000, (i * 37 % 100) << 20, (double)i);
    for (int wide = 40; wide <= 120; wide += 40) {
        char *text = drawn(wide, true), *plain = drawn(wide, false);

        CHECK(widest(text) <= (size_t)wide);
        CHECK(widest(plain) <= (size_t)wide);
        for (const char *c = plain; *c; c++)
            CHECK((unsigned char)*c < 0x80);
        free(text);
        free(plain);
    }
}

static void test_chart_odd(void)
{
    struct table *t = fresh(TABLE_TIMELINE);
    char *text;

    add(t, 5, 0, 0); /* one moment, and nothing but zeroes */
    free(drawn(80, true));
    add(t, 5, 0, 0);
    free(drawn(80, true));
    add(t, UINT64_MAX, UINT64_MAX, 1e300);
    text = drawn(80, true);
    CHECK(strstr(text, "largest"));
    free(text);
    add(t, 3, 1, -1); /* time that goes back */
    free(drawn(80, false));
    fresh(TABLE_TIMELINE);
    text = drawn(80, true);
    CHECK_STR(text, "");
    free(text);
}

static void test_tree(void)
{
    static const struct table_column tree[] = {{"depth", UNIT_DEPTH}, {"name", UNIT_TEXT}};
    static const uint64_t depths[] = {0, 1, 2, 1, 2, 100, 0};
    struct table *t = fresh(TABLE_ROWS);
    char *text;

    t->columns = tree;
    t->width = 2;
    for (size_t i = 0; i < sizeof(depths) / sizeof(depths[0]); i++) {
        struct table_cell *c = table_add(&answer, t);

        cell_number(&c[0], depths[i]);
        cell_text(&c[1], "x");
    }
    text = drawn(80, true);
    CHECK(strstr(text, "\nx\n├─ x\n│  └─ x\n└─ x\n   └─ x\n"));
    CHECK(strstr(text, "└─ x\nx\n"));
    free(text);
    t->rows = 3; /* short names have room for all of it */
    text = drawn(80, true);
    CHECK(strstr(text, "\nx\n└─ x\n   └─ x\n"));
    free(text);
}

static void test_minor(void)
{
    static const struct table_column shares[] = {{"percent", UNIT_PERCENT}, {"stack", UNIT_STACK}};
    static const double percents[] = {90, 0.02, 8, 0.04, 0.03, 0.04};
    static const struct table_stack stack = {0};
    struct table *t = fresh(TABLE_ROWS);
    char *text;

    t->columns = shares;
    t->width = 2;
    for (size_t i = 0; i < sizeof(percents) / sizeof(percents[0]); i++) {
        struct table_cell *c = table_add(&answer, t);

        cell_real(&c[0], percents[i]);
        cell_stack(&c[1], &stack);
    }
    table_find_minor(t, 0, 4);
    CHECK_EQ(t->minor, 0); /* two are shown */
    cell_real(&table_add(&answer, t)[0], 0.01);
    table_find_minor(t, 0, 0);
    CHECK_EQ(t->minor_from, 3);
    CHECK_EQ(t->minor, 3); /* the last one is the rest */
    text = drawn(80, true);
    CHECK(strstr(text, "  8.0 %\n… 3 more of 0.0 % each; --limit 7 shows them\n  0.0 %\n"));
    free(text);
}

/* What the descriptors refer to is there. */
static void test_words(void)
{
    for (int i = 0; formats[i]; i++) {
        CHECK(format_find(formats[i]->name) == formats[i]);
        CHECK(!formats[i]->question || question_find(formats[i]->question));
    }
    for (int i = 0; questions[i]; i++) {
        CHECK(question_find(questions[i]->name) == questions[i]);
        CHECK(questions[i]->group < QUESTION_GROUPS && question_groups[questions[i]->group].of);
    }
    CHECK(!question_find("nothing") && !format_find("nothing"));
}

static const char *site(const char *function)
{
    return table_site_text(&arena, &(struct table_frame){.function = function,
                                                         .file = "/src/a.cc",
                                                         .line = 7,
                                                         .flags = TABLE_FRAME_INLINED});
}

static void test_site(void)
{
    CHECK_STR(site("load(int)"), "load(int) (a.cc:7)");
    CHECK_STR(site("walk<tree_node**, tree_node* (*)(tree_node**, int*, void*)>::all(void*) const"),
              "walk<…>::all(…) const (a.cc:7)");
    CHECK_STR(site("stream::operator<<(std::basic_string<char, std::char_traits<char>>) const"),
              "stream::operator<<(std::basic_string<char, std::char_traits<char>>) const (a.cc:7)");
}

int main(void)
{
    static const struct check_test tests[] = {
        {"rows and cells survive growth", test_growth},
        {"facts carry their unit", test_facts},
        {"sort is stable, absent last", test_sort},
        {"merged rows keep peaks and their time", test_halve},
        {"a thinned timeline keeps peaks and is even", test_points},
        {"cells as text", test_show},
        {"a chart loses no peak", test_chart_peak},
        {"a chart fits its terminal", test_chart_fits},
        {"charts of odd values", test_chart_odd},
        {"branches of a tree", test_tree},
        {"rows too small to show are counted", test_minor},
        {"a site within a sentence", test_site},
        {"what descriptors refer to is there", test_words},
    };
    int failed = check_run(tests, sizeof(tests) / sizeof(tests[0]));

    arena_free(&arena);
    return failed;
}
