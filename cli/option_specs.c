/* The options of all commands: their names, values and help. What each does is in cli/option_values.c. */
#include "cli/options.h"

#include <string.h>

const char *const match_names[4] = {"", "exact", "substring", "glob"};
const char *const rule_names[3] = {"", "onnx", "torch"};

static const struct option_spec specs[OPT_COUNT] = {
    [OPT_FQN] =
        {"fqn", "force-recompute-mm-shapes-by-fqns", "NAME[,NAME...]",
         "recompute every mm whose rhs has the shape of this module's weight\n(\\, in a name is a comma of its own)",
         0, GROUP_POLICY, true, true},
    [OPT_FORCE_SHAPE] = {"force-shape", NULL, "KxN[,KxN...]", "recompute every mm with this rhs shape", 0,
                         GROUP_POLICY, true, true},
    [OPT_MATCH] = {"match", NULL, "exact|substring|glob",
                   "how --fqn names are compared with modules (exact). glob, of the relative or\n"
                   "full name: * within a component, ** anything, ? one character that is no dot",
                   0, GROUP_POLICY, false, true},
    [OPT_PROFILE] = {"profile", NULL, "none|titan",
                     "titan: as torchtitan does today: substring match, rule torch, its save list (none)", 0,
                     GROUP_POLICY, false, true},
    [OPT_BLOCKS] = {"blocks", NULL, "PATTERN",
                    "modules that are checkpointed, * = one segment; auto; whole (auto)", 0, GROUP_POLICY,
                    true, true},
    [OPT_MM_RULE] = {"mm-rule", NULL, "onnx|torch", "what counts as an mm (onnx; torch for .pt2)", 0,
                     GROUP_POLICY, false, true},
    [OPT_MM_OPS] = {"mm-ops", NULL, "[DOMAIN:]OP[,...]",
                    "further operators that are mms, their rhs being input 1", 0, GROUP_POLICY, true, true},
    [OPT_ORDER] = {"order", NULL, "auto|file", "auto: recover execution order where a tool reordered nodes",
                   0, GROUP_POLICY, false, true},
    [OPT_STRICT] = {"strict", NULL, NULL, "a --fqn that matches nothing is an error", 0, GROUP_POLICY, false,
                    true},
    [OPT_SPECIALIZE] = {"specialize", NULL, NULL, "clone functions whose calls decide differently", 0,
                        GROUP_POLICY, false, true},
    [OPT_CONFIG] = {"config", NULL, "FILE", "read policy options from FILE, one `option = value` a line", 0,
                    GROUP_POLICY, false, false},
    [OPT_OUTPUT] = {"output", NULL, "FILE", "write to FILE (-: standard output)", 'o', GROUP_WRITE, false,
                    false},
    [OPT_IN_PLACE] = {"in-place", NULL, NULL, "write to the input file", 0, GROUP_WRITE, false, false},
    [OPT_CARRIER] = {"carrier", NULL, "metadata|attribute|popart", "how a tag stands on its node (metadata)",
                     0, GROUP_WRITE, false, true},
    [OPT_TAG] = {"tag", NULL, "mm|all", "tag the mms, or every node of a block (mm)", 0, GROUP_WRITE, false,
                 true},
    [OPT_EXTERNAL_DATA] = {"external-data", NULL, "copy|hardlink|symlink|keep",
                           "what becomes of data files when writing into another directory", 0, GROUP_WRITE,
                           false, false},
    [OPT_NO_SYNC] = {"no-sync", NULL, NULL, "do not flush to disk before the rename", 0, GROUP_WRITE, false,
                     false},
    [OPT_SET_IR_VERSION] = {"set-ir-version", NULL, "N", "write this ir_version (left as it is)", 0,
                            GROUP_WRITE, false, false},
    [OPT_FORMAT] = {"format", NULL, "text|tsv|json",
                    "for people; one row a line; one object (by FILE's name, else text)", 0, GROUP_PRINT,
                    false, false},
    [OPT_MERGE] = {"merge", NULL, NULL, "text: print the rows of equal neighbouring blocks once", 0,
                   GROUP_PRINT, false, false},
    [OPT_STAT] = {"stat", NULL, NULL, "print how much changed in each block, not what", 0, GROUP_PRINT, false,
                  false},
    [OPT_CONTEXT] = {"unified", NULL, "N", "text: show N equal rows around a change (3)", 'U', GROUP_PRINT,
                     false, false},
    [OPT_REASONS] = {"reasons", NULL, NULL, "the same decision for another reason is a difference, too", 0,
                     GROUP_PRINT, false, false},
    [OPT_REBASE] = {"rebase", NULL, NULL,
                    "take a plan that was made for another graph, as far as its rows are found", 0,
                    GROUP_WRITE, false, false},
    [OPT_DUMP_IR] = {"dump-ir", NULL, NULL, "print the graph as sactag understands it", 0, GROUP_PRINT, false,
                     false},
    [OPT_DOT] = {"dot", NULL, NULL, "print the graph for Graphviz, coloured by policy", 0, GROUP_PRINT, false,
                 false},
    [OPT_MAX_DEPTH] = {"max-depth", NULL, "N", "refuse graphs nested deeper (64)", 0, GROUP_LIMIT, false,
                       false},
    [OPT_MAX_NODES] = {"max-nodes", NULL, "N", "refuse models with more nodes (50000000)", 0, GROUP_LIMIT,
                       false, false},
    [OPT_MAX_STEPS] = {"max-steps", NULL, "N",
                       "refuse calls of functions that expand to more nodes (50000000)", 0, GROUP_LIMIT,
                       false, false},
    [OPT_MAX_MEMORY] = {"max-memory", NULL, "N[K|M|G]",
                        "refuse what needs more bytes of memory (by size of the graph)", 0, GROUP_LIMIT,
                        false, false},
    [OPT_COLOR] = {"color", NULL, "auto|always|never",
                   "colours (auto: on a terminal, unless NO_COLOR is set)", 0, GROUP_COMMON, false, false},
    [OPT_QUIET] = {"quiet", NULL, NULL, "no warnings, notes and summaries", 'q', GROUP_COMMON, false, false},
    [OPT_VERBOSE] = {"verbose", NULL, NULL, "more notes, with the forced shapes of every block", 'v',
                     GROUP_COMMON, false, false},
    [OPT_HELP] = {"help", NULL, NULL, "this text", 'h', GROUP_COMMON, false, false},
    [OPT_VERSION] = {"version", NULL, NULL, "the version of sactag", 'V', GROUP_COMMON, false, false},
};

const struct option_spec *option_spec(int id)
{
    return &specs[id];
}

bool option_named(int id, const char *name)
{
    return strcmp(specs[id].name, name) == 0 || (specs[id].alias && strcmp(specs[id].alias, name) == 0);
}
