package report

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/kubeloupe/kubeloupe/inspect/model"
	"github.com/kubeloupe/kubeloupe/trace/human"
)

// group is the agent's answer about a cgroup.
type group struct {
	Path      string            `json:"path"`
	Files     map[string]string `json:"files"`
	Processes int               `json:"processes"`
}

// weightColumn is the one whose title depends on the version of cgroups.
const weightColumn = 5

func makeCgroup(_ *model.Model, args Args) (*Table, error) {
	var groups []group
	if err := live(args, &groups); err != nil {
		return nil, err
	}
	t := &Table{None: "No cgroups.", Columns: []Column{
		{Name: "CGROUP", Key: "path", Ends: true},
		{Name: "PROCS", Key: "processes", Right: true},
		{Name: "MEMORY", Right: true},
		{Name: "MAX", Right: true},
		{Name: "CPU MAX"},
		{Name: "WEIGHT", Right: true, Drop: 1},
		{Name: "PIDS", Right: true, Drop: 2},
		{Name: "OOM", Right: true},
		{Name: "THROTTLED", Right: true, Wide: true},
		{Name: "CPUSET", Wide: true},
		{Name: "CPU PRESSURE", Wide: true},
		{Key: "files"},
	}}
	if len(groups) > 0 && groups[0].Files["cpu.shares"] != "" { // cgroup v1: all of them
		t.Columns[weightColumn].Name = "SHARES"
	}
	for _, g := range groups {
		f := g.Files
		t.add(str(g.Path), count(g.Processes), limit(cmp.Or(f["memory.current"], f["memory.usage_in_bytes"])),
			limit(cmp.Or(f["memory.max"], f["memory.limit_in_bytes"])), Value{text: cpuMax(f)}, Value{text: cmp.Or(f["cpu.weight"], f["cpu.shares"])},
			Value{text: f["pids.current"]}, Value{text: cmp.Or(within(f["memory.events"], "oom_kill"), f["memory.failcnt"])},
			Value{text: within(f["cpu.stat"], "nr_throttled")}, Value{text: f["cpuset.cpus"]}, Value{text: strings.Split(f["cpu.pressure"], ",")[0]},
			Value{data: f})
	}
	return t, nil
}

// unlimited is what cgroup v1 says of memory without a limit, at least.
const unlimited = 1 << 62

// limit is a number of bytes, or max.
func limit(text string) Value {
	n, err := strconv.ParseInt(text, 10, 64)
	switch {
	case err != nil:
		return Value{text: human.Line(text)}
	case n >= unlimited:
		return Value{text: "max"}
	}
	return Value{text: human.Bytes(n)}
}

// cpuMax is how much CPU time there may be, in CPUs.
func cpuMax(files map[string]string) string {
	quota, period, ok := strings.Cut(files["cpu.max"], " ")
	if !ok {
		quota, period = files["cpu.cfs_quota_us"], files["cpu.cfs_period_us"]
	}
	q, err := strconv.ParseFloat(quota, 64)
	p, bad := strconv.ParseFloat(period, 64)
	switch {
	case quota == "max" || q < 0:
		return "max"
	case err != nil || bad != nil || p <= 0:
		return ""
	}
	return strconv.FormatFloat(q/p, 'g', 4, 64)
}

// within finds a figure in a file of several, "low 0, high 3".
func within(text, name string) string {
	for part := range strings.SplitSeq(text, ", ") {
		if v, ok := strings.CutPrefix(part, name+" "); ok {
			return v
		}
	}
	return ""
}
