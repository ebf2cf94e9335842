/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "core/scan.h"

#include <string.h>
#include <strings.h>

#include "base/cleanup.h"

#define HEADER "Traceback (most recent call last):"
#define GROUP  "+ Exception Group " /* before HEADER: the block's lines have "| " in front */

#define CONSEQUENCE_MAX 1024 /* bytes of an error that are looked at */

/* Any case, anywhere in the error. */
static const char *const consequences[] = {
    "ConnectionResetError",
    "ConnectionRefusedError",
    "ConnectionAbortedError",
    "BrokenPipeError",
    "ConnectionError",
    "connection error",
    "connection reset",
    "connection refused",
    "connection closed", /* gloo: by peer; NCCL: by remote peer */
    "connection aborted",
    "broken pipe",
    "socket closed",
    "socket timeout",
    "peer closed",
    "transport endpoint is not connected",
    "DistNetworkError",
    "DistStoreError",
    "the client socket has", /* failed to connect to ..., timed out after ... */
    "timed out waiting for",
    "wait timeout",
    "application timeout", /* gloo */
    "watchdog caught collective operation timeout",
    "collective operation timeout",
    "NCCL communicator was aborted",
    "ncclRemoteError",
    "remote process exited",
    "failed to recv, got 0 bytes", /* TCPStore */
    "KeyboardInterrupt",
    "SignalException",
};

/* Blocks that are not Python's. */
static const struct fatal {
    const char *start;  /* of the line; "": any */
    const char *inside; /* anywhere in it; "": nothing */
} fatals[] = {
    {"terminate called",             ""                            },
    {"Fatal Python error:",          ""                            },
    {"",                             "double free or corruption"   },
    {"",                             "corrupted size vs. prev_size"},
    {"",                             "corrupted double-linked list"},
    {"malloc(): ",                   ""                            },
    {"free(): ",                     ""                            },
    {"realloc(): ",                  ""                            },
    {"munmap_chunk(): ",             ""                            },
    {"*** stack smashing detected",  ""                            },
    {"*** buffer overflow detected", ""                            },
    {"",                             ": Assertion `"               },
    {"",                             "ERROR: AddressSanitizer"     },
    {"thread '",                     " panicked at "               }, /* Rust */
    {"panic: ",                      ""                            }, /* Go */
    {"fatal error: ",                ""                            },
};

/* What may follow a block without showing that the program went on. */
enum trailer { TRAILER_NONE, TRAILER_MESSAGE, TRAILER_NOISE, TRAILER_IGNORED, TRAILER_REST };
static const struct {
    const char *text; /* at the start of the line */
    enum trailer kind;
} trailers[] = {
    {" ",                                 TRAILER_MESSAGE},
    {"\t",                                TRAILER_MESSAGE},
    {"nccl",                              TRAILER_MESSAGE}, /* "ncclRemoteError: ..." */
    {"Last error:",                       TRAILER_MESSAGE},
    {"Net : ",                            TRAILER_MESSAGE},
    {"socketProgress",                    TRAILER_MESSAGE},
    {"CUDA kernel errors might",          TRAILER_MESSAGE},
    {"For debugging consider passing",    TRAILER_MESSAGE},
    {"Compile with `TORCH_USE_CUDA_DSA`", TRAILER_MESSAGE},
    {"Device-side assertion",             TRAILER_MESSAGE},
    {"Exception raised from ",            TRAILER_MESSAGE}, /* PyTorch's C++ frames */
    {"frame #",                           TRAILER_MESSAGE},
    {"Exception ignored in",              TRAILER_IGNORED}, /* while the interpreter ends */
    {"Error in atexit",                   TRAILER_IGNORED},
    {"Current thread 0x",                 TRAILER_NOISE  }, /* faulthandler */
    {"Thread 0x",                         TRAILER_NOISE  },
    {"Extension modules:",                TRAILER_NOISE  },
    {"[W",                                TRAILER_NOISE  }, /* PyTorch's C++ warnings */
    {"wandb: ",                           TRAILER_NOISE  }, /* its farewell */
    {"srun: ",                            TRAILER_NOISE  },
    {"note: run with `RUST_BACKTRACE",    TRAILER_NOISE  },
    {"stack backtrace:",                  TRAILER_NOISE  },
    {"*** Check failure stack trace",     TRAILER_NOISE  }, /* glog */
    {"[signal SIG",                       TRAILER_NOISE  }, /* Go */
    {"goroutine ",                        TRAILER_REST   }, /* stacks, until it is dead */
};

struct line {
    const char *text; /* without a rank prefix and the prefix of the block */
    size_t n;
    size_t from, to; /* all of it in the tail, without its end */
};

struct walk {
    const char *tail;
    struct scan *out;
    bool in_block;
    bool headless; /* the block began with a frame: a SyntaxError, or its header was cut off */
    bool cut;      /* no line has come yet that cannot be inside a traceback */
    bool ignored;  /* the next block, or line, is an exception that Python ignored */
    bool chained;  /* the next block continues the last one */
    bool closed;   /* what comes is no more the message of the last block */
    bool empty;    /* the last block's final line says no more than "AssertionError: " */
    bool rest;     /* all that comes belongs to the last block */
    size_t block_from;
    size_t prefix_from, prefix_n; /* of the block's lines */
    bool prefix_open;             /* the first line of the block will show whether it is one */
    struct line seen;             /* last line of the block so far */
};

size_t scan_rank_prefix(const char *line, size_t n)
{
    static const char start[] = "[rank";
    size_t at = sizeof(start) - 1;
    size_t digits;

    if (n < at || memcmp(line, start, at) != 0)
        return 0;
    for (digits = at; digits < n && line[digits] >= '0' && line[digits] <= '9'; digits++)
        ;
    if (digits == at || n - digits < 2 || line[digits] != ']' || line[digits + 1] != ':')
        return 0;
    return digits + 2 + (n - digits > 2 && line[digits + 2] == ' ');
}

static bool starts(const char *text, size_t n, const char *with)
{
    size_t want = strlen(with);

    return n >= want && memcmp(text, with, want) == 0;
}

static const char *inside(const char *text, size_t n, const char *what)
{
    return memmem(text, n, what, strlen(what));
}

bool scan_is_consequence(const char *error, size_t n)
{
    n = n < CONSEQUENCE_MAX ? n : CONSEQUENCE_MAX;
    for (size_t i = 0; i < LENGTH(consequences); i++) {
        size_t want = strlen(consequences[i]);

        for (size_t at = 0; at + want <= n; at++)
            if (strncasecmp(error + at, consequences[i], want) == 0)
                return true;
    }
    return false;
}

static bool is_blank(const struct line *line)
{
    for (size_t i = 0; i < line->n; i++)
        if (line->text[i] != ' ' && line->text[i] != '\t')
            return false;
    return true;
}

static bool is_indented(const struct line *line)
{
    return line->n && (line->text[0] == ' ' || line->text[0] == '\t');
}

/* "F0101 10:00:00.000000 77 loader.cc:33] Check failed: ...", as glog writes it */
static bool is_glog_fatal(const struct line *line)
{
    size_t i = 1;

    while (i < line->n && line->text[i] >= '0' && line->text[i] <= '9')
        i++;
    return (i == 5 || i == 9) && line->text[0] == 'F' && i < line->n && line->text[i] == ' ' &&
           inside(line->text, line->n, "] ");
}

static bool is_fatal(const struct line *line)
{
    for (size_t i = 0; i < LENGTH(fatals); i++)
        if (starts(line->text, line->n, fatals[i].start) &&
            inside(line->text, line->n, fatals[i].inside))
            return true;
    return is_glog_fatal(line);
}

static enum trailer trailer_of(const struct line *line)
{
    if (inside(line->text, line->n, "UserWarning: resource_tracker:"))
        return TRAILER_NOISE;
    for (size_t i = 0; i < LENGTH(trailers); i++)
        if (starts(line->text, line->n, trailers[i].text))
            return trailers[i].kind;
    return TRAILER_NONE;
}

/* Does it look like "ValueError: bad shard" or "module.SomeError"? */
static bool is_exception(const struct line *line)
{
    size_t i = 0;

    while (i < line->n && (line->text[i] == '_' || line->text[i] == '.' ||
                           (line->text[i] >= '0' && line->text[i] <= '9') ||
                           ((line->text[i] | 0x20) >= 'a' && (line->text[i] | 0x20) <= 'z')))
        i++;
    return i && ((i < line->n && line->text[i] == ':') || inside(line->text, i, "Error"));
}

static bool is_syntax_error(const struct line *line)
{
    return starts(line->text, line->n, "SyntaxError") ||
           starts(line->text, line->n, "IndentationError") ||
           starts(line->text, line->n, "TabError");
}

static void drop(struct line *line, size_t n)
{
    line->text += n;
    line->n -= n;
}

/* Takes off what stands before each line of the block. */
static void drop_prefix(struct walk *w, struct line *line)
{
    const char *bar;

    drop(line, scan_rank_prefix(line->text, line->n));
    if (!w->in_block || !w->prefix_n)
        return;
    if (w->prefix_open && inside(w->tail + w->prefix_from, w->prefix_n, GROUP) &&
        (bar = inside(line->text, line->n, "| "))) {
        w->prefix_from = (size_t)(line->text - w->tail);
        w->prefix_n = (size_t)(bar + 2 - line->text);
    }
    if (line->n >= w->prefix_n && memcmp(line->text, w->tail + w->prefix_from, w->prefix_n) == 0)
        drop(line, w->prefix_n);
    else if (w->prefix_open)
        w->prefix_n = 0;
    w->prefix_open = false;
}

static void begin_block(struct walk *w, const struct line *line, const char *header)
{
    w->in_block = true;
    w->headless = !header;
    w->block_from = w->chained ? w->out->from : line->from;
    w->chained = false;
    w->prefix_from = (size_t)(line->text - w->tail);
    w->prefix_n = header ? (size_t)(header - line->text) : 0;
    w->prefix_open = w->prefix_n > 0;
    w->seen = *line;
}

/* Its first words are in `line`: one that ends with a colon has them in the next. */
static void begin_error(struct walk *w, const struct line *line)
{
    struct scan *out = w->out;
    size_t n = line->n;

    while (n && (line->text[n - 1] == ' ' || line->text[n - 1] == '\t'))
        n--;
    w->closed = w->rest = false;
    w->empty = n && line->text[n - 1] == ':';
    out->last = true;
    out->after = 0;
    out->error_from = (size_t)(line->text - w->tail);
    out->to = out->error_to = line->to;
}

/* `line` is the block's final one. */
static void end_block(struct walk *w, const struct line *line)
{
    w->in_block = false;
    if (w->ignored) {
        w->ignored = false;
        return;
    }
    w->out->traceback = true;
    w->out->fatal = false;
    w->out->from = w->block_from;
    begin_error(w, line);
}

static void take_fatal(struct walk *w, const struct line *line)
{
    struct scan *out = w->out;

    if ((out->traceback || out->fatal) && out->last) { /* the end of what died already */
        w->closed = true;
        return;
    }
    out->fatal = true;
    out->traceback = false;
    begin_error(w, line);
    out->from = out->error_from;
}

/* A line after a block, or where there is none. */
static void take_other(struct walk *w, const struct line *line)
{
    struct scan *out = w->out;
    enum trailer kind = trailer_of(line);

    if (w->ignored && kind != TRAILER_IGNORED) { /* the exception alone, without a traceback */
        w->ignored = false;
        return;
    }
    if (w->rest)
        return;
    if (w->empty && !w->closed && (kind == TRAILER_NONE || kind == TRAILER_MESSAGE)) {
        w->empty = false;
        out->to = out->error_to = line->to;
        return;
    }
    if (kind == TRAILER_NONE) {
        out->last = false;
        out->after++;
    }
    w->ignored = kind == TRAILER_IGNORED;
    w->rest = kind == TRAILER_REST && out->fatal && out->last;
    w->closed |= kind != TRAILER_MESSAGE;
    if (w->closed || !out->last)
        return;
    out->to = line->to;
    if (out->fatal && inside(line->text, line->n, "what():"))
        out->error_to = line->to;
}

static void take_line(struct walk *w, struct line *line)
{
    const char *header;

    drop_prefix(w, line);
    if (is_blank(line))
        return;
    w->out->line_from = (size_t)(line->text - w->tail);
    w->out->line_to = line->to;
    header = inside(line->text, line->n, HEADER);
    if (header) {
        begin_block(w, line, header);
    } else if (w->in_block && is_indented(line)) {
        w->seen = *line;
    } else if (w->in_block &&
               (!w->headless || is_syntax_error(line) || (w->cut && is_exception(line)))) {
        end_block(w, line);
    } else {
        w->in_block = false;
        if (inside(line->text, line->n, " exception, another exception occurred:") ||
            inside(line->text, line->n, "the direct cause of the following exception:"))
            w->chained = w->out->traceback;
        else if (is_fatal(line))
            take_fatal(w, line);
        else if (starts(line->text, line->n, "  File \"") && inside(line->text, line->n, ", line "))
            begin_block(w, line, NULL);
        else
            take_other(w, line);
    }
    if (!is_indented(line) && line->from > 0) /* the first line may be half a one */
        w->cut = false;
}

void scan_tail(const char *tail, size_t n, struct scan *out)
{
    scan_begun(tail, n, n, out);
}

void scan_begun(const char *tail, size_t n, size_t all, struct scan *out)
{
    struct walk w = {.tail = tail, .out = out, .cut = true};
    size_t end;

    memset(out, 0, sizeof(*out));
    if (!n)
        return;
    for (size_t at = 0; at < (w.in_block ? all : n); at = end + 1) {
        struct line line = {.text = tail + at, .from = at};
        size_t limit = w.in_block ? all : n;

        for (end = at; end < limit && tail[end] != '\n' && tail[end] != '\r'; end++)
            ;
        line.to = end;
        line.n = end - at;
        take_line(&w, &line);
    }
    if (w.in_block && !w.headless) { /* it died, or we told it to, while it wrote */
        end_block(&w, &w.seen);
        out->cut = true;
    }
    if (!out->traceback && !out->fatal) {
        out->error_from = out->line_from;
        out->error_to = out->line_to;
        out->to = out->from = out->error_from;
    }
    out->cut |= out->traceback && out->error_to == all;
    out->consequence =
        scan_is_consequence(tail + out->error_from, out->error_to - out->error_from) ||
        (out->last && scan_is_consequence(tail + out->error_to, out->to - out->error_to));
}
