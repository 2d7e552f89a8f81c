package cpus

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"os"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeloupe/kubeloupe/agent/numa"
	"github.com/kubeloupe/kubeloupe/agent/topology"
)

// scenario is a sequence of pods on a machine, with what upstream's static policy (v1.37.1) did: a program called it with random pods and
// wrote testdata/upstream.json.
type scenario struct {
	Shape    struct{ Sockets, Nodes, Cores, Threads, Caches int } `json:"shape"`
	Options  []string                                             `json:"options"`
	Reserved int                                                  `json:"reserved"`
	Err      string                                               `json:"err"` // of the start
	Ops      []struct {
		Remove   string `json:"remove"`
		Pod      string `json:"pod"`
		Nodes    []int  `json:"nodes"` // the topology manager's affinity
		PodHints string `json:"podHints"`
		Ctrs     []struct {
			Kind  string `json:"k"`
			Name  string `json:"n"`
			CPUs  int    `json:"c"`
			Hints string `json:"hints"`
			Got   string `json:"got"`
			Err   string `json:"err"`
		} `json:"ctrs"`
		Pool string `json:"pool"`
	} `json:"ops"`
}

// TestAsUpstream: the same pods get the same CPUs.
func TestAsUpstream(t *testing.T) {
	text, err := os.ReadFile("testdata/upstream.json")
	if err != nil {
		t.Fatal(err)
	}
	var all []scenario
	if err := json.Unmarshal(text, &all); err != nil || len(all) < 50 {
		t.Fatalf("%d scenarios, %v", len(all), err)
	}
	for i := range all {
		s := &all[i]
		cfg := Config{
			Policy: Static, Options: map[string]string{}, Machine: shape{s.Shape.Sockets, s.Shape.Nodes, s.Shape.Cores, s.Shape.Threads, s.Shape.Caches}.machine(), ReservedNumber: s.Reserved, Dir: t.TempDir(), Pods: &world{},
			AlphaOptions: true, BetaOptions: true,
		}
		for _, o := range s.Options {
			cfg.Options[o] = "true"
		}
		m, err := New(cfg)
		if (err != nil) != (s.Err != "") {
			t.Errorf("%d: %v, upstream %q", i, err, s.Err)
		}
		if err == nil {
			replay(t, i, m, s)
		}
	}
}

func replay(t *testing.T, i int, m *Manager, s *scenario) {
	for j, op := range s.Ops {
		if op.Remove != "" {
			m.Release(types.UID(op.Remove))
		} else {
			var texts []string
			for _, c := range op.Ctrs {
				texts = append(texts, written(c.Kind, c.Name, c.CPUs))
			}
			p := pod(op.Pod, texts...)
			last := op.Ctrs[len(op.Ctrs)-1]
			if got := shown(m.PodHints(p)); last.Err == "" && got != op.PodHints {
				t.Errorf("%d.%d %+v %v, pod: hints %s, want %s", i, j, s.Shape, s.Options, got, op.PodHints)
			}
			for k, c := range op.Ctrs {
				list := p.Spec.InitContainers
				if c.Kind == "" {
					list = p.Spec.Containers
				}
				at := 0
				for at < len(list)-1 && list[at].Name != c.Name {
					at++
				}
				if got := shown(m.Hints(p, &list[at])); got != c.Hints {
					t.Errorf("%d.%d.%d %+v %v: hints %s, want %s", i, j, k, s.Shape, s.Options, got, c.Hints)
				}
				err, text := m.Allocate(t.Context(), p, &list[at], topology.Hint{Nodes: numa.MaskOf(op.Nodes...), Preferred: true}), ""
				if err != nil {
					text = err.Error()
				}
				got := m.content.Assigned[op.Pod][c.Name].String()
				if got != c.Got || text != c.Err {
					t.Fatalf("%d.%d.%d %+v %v, %d CPUs: %s %q, want %s %q", i, j, k, s.Shape, s.Options, c.CPUs, got, text, c.Got, c.Err)
				}
			}
		}
		if got := m.content.Default.String(); got != op.Pool {
			t.Fatalf("%d.%d %+v %v: shared %s, want %s", i, j, s.Shape, s.Options, got, op.Pool)
		}
	}
}

// written is a container as pod takes it.
func written(kind, name string, cpus int) string {
	if kind != "" {
		name = kind + ":" + name
	}
	return fmt.Sprintf("%s=%d", name, cpus)
}

func shown(hints map[string][]topology.Hint) string {
	if hints == nil {
		return "nil"
	}
	text := show(hints["cpu"])
	if len(text) <= 120 {
		return text
	}
	h := fnv.New32a() // of a long text, the file has only the checksum
	_, _ = h.Write([]byte(text))
	return fmt.Sprint(h.Sum32())
}
