package shutdown

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	kubeletv1beta1 "k8s.io/kubelet/config/v1beta1"
)

func podOf(name string, priority int32, grace int64) *v1.Pod {
	p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID(name)}}
	p.Spec.Priority = &priority
	if grace >= 0 {
		p.Spec.TerminationGracePeriodSeconds = &grace
	}
	return p
}

func byPriority(pairs ...int64) (out []kubeletv1beta1.ShutdownGracePeriodByPodPriority) {
	for i := 0; i < len(pairs); i += 2 {
		out = append(out, kubeletv1beta1.ShutdownGracePeriodByPodPriority{Priority: int32(pairs[i]), ShutdownGracePeriodSeconds: pairs[i+1]})
	}
	return out
}

func TestPeriods(t *testing.T) {
	for _, c := range []struct {
		name string
		in   Settings
		want []Period
		sum  time.Duration
	}{
		{"nothing", Settings{}, nil, 0},
		{"two groups", Settings{Total: 30 * time.Second, Critical: 10 * time.Second}, []Period{{0, 20}, {2e9, 10}}, 30 * time.Second},
		{"no time for critical pods", Settings{Total: 30 * time.Second}, []Period{{0, 30}, {2e9, 0}}, 30 * time.Second},
		{"only critical pods", Settings{Total: time.Minute, Critical: time.Minute}, []Period{{0, 0}, {2e9, 60}}, time.Minute},
		{"parts of seconds", Settings{Total: 2500 * time.Millisecond, Critical: time.Second}, []Period{{0, 1}, {2e9, 1}}, 2 * time.Second},
		{"critical pods alone", Settings{Critical: time.Second}, nil, 0},
		{"more for critical pods than for all", Settings{Total: time.Second, Critical: 2 * time.Second}, nil, 0},
		{"by priority, sorted", Settings{ByPriority: byPriority(2e9, 5, -1, 7, 1000, 120)}, []Period{{-1, 7}, {1000, 120}, {2e9, 5}}, 132 * time.Second},
		{"by priority comes first", Settings{Total: time.Minute, ByPriority: byPriority(7, 5)}, []Period{{7, 5}}, 5 * time.Second},
		{"a negative time", Settings{ByPriority: byPriority(7, -5)}, []Period{{7, 0}}, 0},
	} {
		got := c.in.Periods()
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, d)
		}
		if got := total(got); got != c.sum {
			t.Errorf("%s: together %s, want %s", c.name, got, c.sum)
		}
	}
}

func TestPlan(t *testing.T) {
	none := podOf("none", 0, 5)
	none.Spec.Priority = nil
	three := []Period{{0, 30}, {1000, 20}, {2e9, 10}}
	for _, c := range []struct {
		name    string
		periods []Period
		pods    []*v1.Pod
		want    string
	}{
		{"no pods", three, nil, ""},
		{"one of each", three, []*v1.Pod{podOf("c", 2e9, -1), podOf("a", 0, -1), podOf("b", 1000, -1)}, "0: a; 1000: b; 2000000000: c"},
		{"a group without pods is left out", three, []*v1.Pod{podOf("a", 999, -1), podOf("c", 2e9+1000, -1)}, "0: a; 2000000000: c"},
		{"between two", three, []*v1.Pod{podOf("a", 999, -1), podOf("b", 1001, -1), podOf("c", 1999999999, -1)}, "0: a; 1000: b c"},
		{"below the lowest", three, []*v1.Pod{podOf("a", -5, -1)}, "0: a"},
		{"without a priority", three, []*v1.Pod{none}, "0: none"},
		{"one period has all", []Period{{500, 30}}, []*v1.Pod{podOf("a", -5, -1), podOf("b", 2e9, -1)}, "500: a b"},
		{"the first of two periods of a priority", []Period{{0, 1}, {0, 2}, {9, 3}}, []*v1.Pod{podOf("a", 0, -1)}, "0: a"},
	} {
		var got []string
		for _, g := range plan(c.periods, c.pods) {
			names := make([]string, 0, len(g.pods))
			for _, p := range g.pods {
				names = append(names, p.Name)
			}
			got = append(got, fmt.Sprintf("%d: %s", g.Priority, strings.Join(names, " ")))
		}
		if text := strings.Join(got, "; "); text != c.want {
			t.Errorf("%s: %q, want %q", c.name, text, c.want)
		}
	}
}

// A pod has its own grace period, unless its group has less time.
func TestGrace(t *testing.T) {
	g := group{Period: Period{Grace: 20}}
	for own, want := range map[int64]int64{-1: 20, 0: 0, 5: 5, 20: 20, 21: 20, 600: 20} {
		if got := g.grace(podOf("a", 0, own)); got != want {
			t.Errorf("%d: %d, want %d", own, got, want)
		}
	}
}
