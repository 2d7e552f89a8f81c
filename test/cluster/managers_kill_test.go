package cluster

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kubeloupe/kubeloupe/test/lab"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/jsonl"
)

// moment is when the agent is killed: during a call of a plugin, which kills it, or at a record.
type moment struct {
	// hook is PROGRAM.METHOD.begin, before the plugin does its work, or .end, before it answers.
	hook string
	at   func(*trace.Record) bool
}

func stepOf(verb trace.Verb, edge trace.Edge) moment {
	return moment{at: func(r *trace.Record) bool {
		e, ok := r.Event.(*trace.Action)
		return ok && e.Verb == verb && r.Edge == edge
	}}
}

func granted(by trace.AllocationManager, outcome trace.AllocationOutcome) moment {
	return moment{at: func(r *trace.Record) bool {
		e, ok := r.Event.(*trace.Allocation)
		return ok && e.Manager == by && e.Outcome == outcome
	}}
}

// killings are pairs of moments at which the agent is killed: while a pod starts, and while it terminates.
var killings = []struct {
	name          string
	start, ending moment
}{
	{"CPU granted", granted(trace.ManagerCPU, trace.AllocationGranted), moment{}},
	{"Allocate begins, container is killed", moment{hook: "alpha.Allocate.begin"}, stepOf(trace.VerbKill, trace.EdgeBegin)},
	{"Allocate answers, sandbox stops", moment{hook: "beta.Allocate.end"}, stepOf(trace.VerbStopSandbox, trace.EdgeBegin)},
	{"devices are kept, Unprepare begins", stepOf(trace.VerbCgroup, trace.EdgeBegin), moment{hook: "dra.Unprepare.begin"}},
	{"Prepare begins, Unprepare answers", moment{hook: "dra.Prepare.begin"}, moment{hook: "dra.Unprepare.end"}},
	{"Prepare answers, claims are released", moment{hook: "dra.Prepare.end"}, stepOf(trace.VerbReleaseClaims, trace.EdgeEnd)},
	{"sandbox begins, cgroup is removed", stepOf(trace.VerbSandbox, trace.EdgeBegin), stepOf(trace.VerbRemoveCgroup, trace.EdgeEnd)},
	{"PreStartContainer, CPU is released", moment{hook: "alpha.PreStartContainer.begin"}, granted(trace.ManagerCPU, trace.AllocationReleased)},
	{"container is created", stepOf(trace.VerbCreate, trace.EdgeEnd), moment{}},
	{"container is started", stepOf(trace.VerbStart, trace.EdgeEnd), moment{}},
}

// TestManagersKilled kills the agent by SIGKILL at each step of an allocation, and of what follows it, until all is free again. Another pod with
// devices and a claim runs all the time.
func TestManagersKilled(t *testing.T) {
	b := setup(t)
	m := b.managed(t)
	a := m.run(lab.Kubeloupe)
	a.ready()
	m.create(wants("bystander", 1, false))
	m.ready("bystander")
	before := m.see("bystander")
	if want := m.all.Difference(m.own).String(); len(before.Alpha) != 1 || len(before.Claimed) != 1 || before.Alpha[0] != "alpha-2" {
		t.Errorf("the bystander has %+v, want CPUs %s and one device of each kind, of alpha the last one, which the plugin prefers", before, want)
	}
	for _, k := range killings {
		ok := t.Run(k.name, func(t *testing.T) {
			s := *m.space
			s.t = t
			inner := *m
			inner.space = &s
			m := &inner
			a = m.killedAt(a, k.start, func() { m.create(wants("holder", 1, true)) })
			m.ready("holder")
			has := m.holds("holder", before)
			m.consistent(map[string]given{"bystander": before, "holder": has})
			if k.ending.set() {
				a = m.killedAt(a, k.ending, func() { m.delete(-1, "holder") })
			} else {
				m.delete(-1, "holder")
			}
			m.end("holder")
			m.consistent(map[string]given{"bystander": before})
			m.unchanged("bystander", before)
		})
		if !ok {
			return // what is left of it would fail the others
		}
	}
	// What is left for others is all of the rest.
	m.create(wants("rest", each-1, true))
	m.ready("rest")
	rest := m.see("rest")
	if len(rest.Alpha) != each-1 || len(rest.Beta) != each-1 || len(rest.Claimed) != each-1 || rest.CPUs != m.own.String() {
		t.Errorf("the last pod has %+v", rest)
	}
	m.apart(rest, before)
	m.delete(-1, "bystander", "rest")
	m.gone()
	m.consistent(nil)
	m.free()
	for _, c := range m.calls(func(c call) bool { return c.Err != "" }) {
		t.Errorf("a plugin refused: %+v", c)
	}
}

func (k moment) set() bool { return k.hook != "" || k.at != nil }

// killedAt has the agent killed at a moment of what do causes, and starts the next one.
func (m *managed) killedAt(a *agent, k moment, do func()) *agent {
	t := m.t
	t.Helper()
	if k.hook != "" {
		if err := os.WriteFile(filepath.Join(m.hooks, k.hook), []byte(fmt.Sprint(a.PID())), 0o600); err != nil {
			t.Fatal(err)
		}
	} else {
		stop := a.follow(t, func(r *trace.Record) bool {
			if r.Pod.Name != "holder" || !k.at(r) {
				return false
			}
			_ = syscall.Kill(a.PID(), syscall.SIGKILL)
			return true
		})
		defer stop()
	}
	do()
	eventually(t, "the agent's end", func() string {
		if a.Alive() {
			return "it is alive"
		}
		return ""
	})
	next := m.run(lab.Kubeloupe)
	if err := next.WaitReady(t.Context()); err != nil {
		t.Fatal(err)
	}
	return next
}

// follow passes the agent's records from now on to see, until that returns true.
func (a *agent) follow(t *testing.T, see func(*trace.Record) bool) (stop func()) {
	t.Helper()
	f, err := os.Open(a.LogFile)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Seek(0, io.SeekEnd); err != nil {
		t.Fatal(err)
	}
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		in, line := bufio.NewReader(f), ""
		for {
			part, err := in.ReadString('\n')
			line += part
			if err != nil { // more is to come
				select {
				case <-done:
					return
				case <-time.After(time.Millisecond):
					continue
				}
			}
			for r, err := range jsonl.Read(strings.NewReader(line)) {
				if err == nil && see(&r) {
					return
				}
			}
			line = ""
		}
	}()
	return func() {
		close(done)
		<-ended
		_ = f.Close()
	}
}

// holds checks what the pod sees of what it was given: a CPU for itself, memory of one node, and one device of each kind that no other has.
func (m *managed) holds(name string, others ...given) given {
	m.t.Helper()
	g := m.see(name)
	if g.CPUs != m.own.String() || g.Mems != "0" || len(g.Alpha) != 1 || len(g.Beta) != 1 || len(g.Claimed) != 1 {
		m.t.Errorf("%s has %+v, want the CPU %s, memory of node 0 and one device of each kind", name, g, m.own)
	}
	for _, o := range others {
		m.apart(g, o)
	}
	return g
}

// apart sees that two pods share nothing that belongs to one.
func (m *managed) apart(a, b given) {
	m.t.Helper()
	has := func(g given) []string { return slices.Concat(g.Alpha, g.Beta, g.Claimed) }
	for _, d := range has(a) {
		if slices.Contains(has(b), d) {
			m.t.Errorf("%s was given twice: %+v, %+v", d, a, b)
		}
	}
	if a.CPUs == b.CPUs {
		m.t.Errorf("CPUs %s were given twice", a.CPUs)
	}
}

// unchanged sees that the pod's container runs as before, with the same things, except that what CPUs it shares may change.
func (m *managed) unchanged(name string, before given) {
	m.t.Helper()
	now := m.see(name)
	now.CPUs = before.CPUs
	if fmt.Sprint(now) != fmt.Sprint(before) {
		m.t.Errorf("%s had %+v, and has %+v", name, before, now)
	}
}

// end waits until the API does not have the pod.
func (m *managed) end(names ...string) {
	m.t.Helper()
	for _, name := range names {
		eventually(m.t, name+" to be gone", func() string {
			var p *v1.Pod
			p, err := m.get(name)
			switch {
			case apierrors.IsNotFound(err):
				return ""
			case err != nil:
				return err.Error()
			}
			return short(p)
		})
	}
}

// free sees that the driver has nothing prepared: as many claims were unprepared as prepared, and no specification is left.
func (m *managed) free() {
	m.t.Helper()
	left := map[string]bool{}
	for _, c := range m.calls(func(c call) bool { return c.Program == "dra" }) {
		left[c.Claim] = c.Method == "Prepare"
	}
	for claim, prepared := range left {
		if prepared {
			m.t.Errorf("claim %s is still prepared", claim)
		}
	}
	if specs, _ := filepath.Glob(filepath.Join(m.CDIDir, draDriver+"-*")); len(specs) > 0 {
		m.t.Errorf("specifications are left: %v", specs)
	}
}
