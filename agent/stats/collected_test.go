package stats

import (
	"context"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"
	statsapi "k8s.io/kubelet/pkg/apis/stats/v1alpha1"

	"github.com/kubeloupe/kubeloupe/agent/exposition"
	"github.com/kubeloupe/kubeloupe/agent/quota"
)

// shownOf returns the sums and the counts that are scraped.
func shownOf(c *collected) string {
	var p exposition.Page
	c.metrics(&p)
	w := httptest.NewRecorder()
	p.Answer(w, httptest.NewRequest("GET", "/metrics", nil))
	var out []string
	for line := range strings.Lines(w.Body.String()) {
		if line, ok := strings.CutPrefix(line, "kubelet_volume_metric_collection_duration_seconds_"); ok && !strings.HasPrefix(line, "bucket") {
			out = append(out, strings.TrimSpace(line))
		}
	}
	return strings.Join(out, "\n")
}

// Each way to get the usage of a volume is counted with its time, under upstream's name, and the answer of a driver under the driver's.
func TestCollected(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		s := &Stats{usage: newUsage(), answers: answers{period: time.Minute}}
		s.usage.collected = &s.collected
		s.usage.walk = func(context.Context, string) held {
			time.Sleep(200 * time.Millisecond)
			return held{}
		}
		s.cfg.Quota = func(*v1.Pod, *v1.Volume, string) (quota.Usage, bool) { return quota.Usage{}, false }
		pod, v, w := &v1.Pod{}, &v1.Volume{}, walks{until: t.Context()}
		s.volume(w, pod, v, Volume{Path: dir}, time.Now())
		s.volume(w, pod, v, Volume{Path: "/dev/none", Block: true}, time.Now())
		s.cfg.Quota = func(*v1.Pod, *v1.Volume, string) (quota.Usage, bool) {
			time.Sleep(100 * time.Millisecond)
			return quota.Usage{}, true
		}
		s.volume(w, pod, v, Volume{Path: dir}, time.Now())
		s.volume(w, pod, v, Volume{Path: "/there", Driver: "d.example.com", Ask: func(context.Context) (statsapi.FsStats, bool) {
			time.Sleep(50 * time.Millisecond)
			return statsapi.FsStats{}, true
		}}, time.Now())
		s.volume(w, pod, v, Volume{Path: "/proc"}, time.Now())
		want := `sum{metric_source="block"} 0
count{metric_source="block"} 1
sum{metric_source="d.example.com"} 0.05
count{metric_source="d.example.com"} 1
sum{metric_source="du"} 0.2
count{metric_source="du"} 1
sum{metric_source="fsquota"} 0.1
count{metric_source="fsquota"} 1
sum{metric_source="statfs"} 0
count{metric_source="statfs"} 1`
		if got := shownOf(&s.collected); got != want {
			t.Errorf("got:\n%s\nwant:\n%s", got, want)
		}
	})
}

func TestSourcesAreLimited(t *testing.T) {
	var c collected
	for i := range 2 * maxSources {
		c.from(fmt.Sprint("driver ", i), time.Now())
	}
	if got := strings.Count(shownOf(&c), "count"); got != maxSources+1 {
		t.Errorf("%d sources, want %d and other", got, maxSources)
	}
}
