package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeloupe/kubeloupe/test/lab"
)

// row is one line of the table.
type row struct {
	name string
	run  func(context.Context, *bench) error
}

func allRows() []row {
	return []row{
		{"one", func(ctx context.Context, b *bench) error {
			return b.single(ctx, "one pod, started", plain, false, 1.10)
		}},
		{"volumes", func(ctx context.Context, b *bench) error {
			return b.single(ctx, "emptyDir + hostPath, started", volumes, false, 1.10)
		}},
		{"pull", func(ctx context.Context, b *bench) error {
			return b.single(ctx, "uncached 60 MiB image, started", big, true, 0.85)
		}},
		{"delete", func(ctx context.Context, b *bench) error { return b.deletion(ctx) }},
		{"burst10", func(ctx context.Context, b *bench) error { return b.bursts(ctx, 10) }},
		{"burst30", func(ctx context.Context, b *bench) error { return b.bursts(ctx, 30) }},
		{"events", func(ctx context.Context, b *bench) error { return b.events(ctx) }},
		{"stuck", func(ctx context.Context, b *bench) error {
			return b.paired(ctx, "UI's terminal read / stuck", withOwnUI)
		}},
		{"attached", func(ctx context.Context, b *bench) error {
			return b.paired(ctx, "alone / stuck UI attached", withClient("ATTACHED", "tui", "--view", "log"))
		}},
		{"unread", func(ctx context.Context, b *bench) error {
			return b.paired(ctx, "alone / events --follow unread", withClient("", "events", "--follow", "-o", "json"))
		}},
		{"recorded", func(ctx context.Context, b *bench) error {
			return b.paired(ctx, "alone / recorded", withRecorder)
		}},
		{"exported", func(ctx context.Context, b *bench) error { return b.exported(ctx) }},
		{"idle", func(ctx context.Context, b *bench) error { return b.idle(ctx) }},
	}
}

func rowNames() []string {
	var out []string
	for _, r := range allRows() {
		out = append(out, r.name)
	}
	return out
}

// serial makes names that are never used twice.
var serial int

// maker makes a pod for a lab.
type maker func(l *lab.Lab) *v1.Pod

func podOf(c v1.Container) *v1.Pod {
	serial++
	name := fmt.Sprintf("b%d", serial)
	c.Name = "main"
	c.ImagePullPolicy = v1.PullIfNotPresent
	c.TerminationMessagePath = v1.TerminationMessagePathDefault
	c.TerminationMessagePolicy = v1.TerminationMessageReadFile
	return &v1.Pod{
		TypeMeta:   metav1.TypeMeta{Kind: "Pod", APIVersion: "v1"},
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "bench", UID: types.UID(name)},
		Spec:       v1.PodSpec{Containers: []v1.Container{c}},
	}
}

func plain(l *lab.Lab) *v1.Pod { return podOf(v1.Container{Image: l.Image(lab.ImageHTTP)}) }

func big(l *lab.Lab) *v1.Pod {
	// A shell that ends on TERM: sleep alone, as process 1, would sit out its grace period.
	return podOf(v1.Container{Image: l.Image(lab.Image60M), Command: []string{"sh", "-c", "trap 'exit 0' TERM; sleep 3600 & wait"}})
}

func volumes(l *lab.Lab) *v1.Pod {
	p := podOf(v1.Container{Image: l.Image(lab.ImageHTTP), VolumeMounts: []v1.VolumeMount{{Name: "e", MountPath: "/e"}, {Name: "h", MountPath: "/h"}}})
	p.Spec.Volumes = []v1.Volume{
		{Name: "e", VolumeSource: v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}}},
		{Name: "h", VolumeSource: v1.VolumeSource{HostPath: &v1.HostPathVolumeSource{Path: l.Dir}}},
	}
	return p
}

// single times one pod at a time, floor and agent in turn.
func (b *bench) single(ctx context.Context, title string, pod maker, pull bool, reach float64) error {
	if err := b.startAgent(ctx, &b.ours); err != nil {
		return err
	}
	var floor, agent []time.Duration
	for i := range b.o.n + 1 {
		f, err := b.floorOne(ctx, pod(b.twin.lab), pull)
		if err != nil {
			return err
		}
		a, _, err := b.agentOne(ctx, pod(b.ours.lab))
		if err != nil {
			return err
		}
		if pull {
			for _, s := range []*side{&b.ours, &b.twin} {
				if err := s.cri.drop(ctx, s.lab.Image(lab.Image60M)); err != nil {
					return err
				}
			}
		}
		if i > 0 { // the first warms both up
			floor, agent = append(floor, f), append(agent, a)
		}
	}
	report(title+" p50", p50(floor), p50(agent), reach)
	return nil
}

// floorOne starts a pod by direct calls and removes it.
func (b *bench) floorOne(ctx context.Context, pod *v1.Pod, pull bool) (time.Duration, error) {
	begin := time.Now()
	m, err := b.twin.cri.start(ctx, pod, pull)
	if err != nil {
		return 0, err
	}
	at, err := b.twin.events.awaitStarted(ctx, pod.Name, len(pod.Spec.Containers))
	if err != nil {
		return 0, err
	}
	return at.Sub(begin), b.twin.cri.stop(ctx, m)
}

// agentOne has the agent start a pod and remove it.
func (b *bench) agentOne(ctx context.Context, pod *v1.Pod) (start, end time.Duration, err error) {
	name := pod.Name + "-" + hostname()
	begin := time.Now()
	if err := b.agent.write(pod); err != nil {
		return 0, 0, err
	}
	at, err := b.ours.events.awaitStarted(ctx, name, len(pod.Spec.Containers))
	if err != nil {
		return 0, 0, err
	}
	start = at.Sub(begin)
	time.Sleep(50 * time.Millisecond) // let it take note of the start
	begin = time.Now()
	if err := b.agent.remove(pod); err != nil {
		return 0, 0, err
	}
	if at, err = b.ours.events.awaitGone(ctx, name); err != nil {
		return 0, 0, err
	}
	end = at.Sub(begin)
	time.Sleep(50 * time.Millisecond)
	return start, end, nil
}

func (b *bench) deletion(ctx context.Context) error {
	if err := b.startAgent(ctx, &b.ours); err != nil {
		return err
	}
	var floor, agent []time.Duration
	for i := range b.o.n + 1 {
		m, err := b.twin.cri.start(ctx, plain(b.twin.lab), false)
		if err != nil {
			return err
		}
		begin := time.Now()
		if err := b.twin.cri.stop(ctx, m); err != nil {
			return err
		}
		at, err := b.twin.events.awaitGone(ctx, m.pod.Name)
		if err != nil {
			return err
		}
		_, end, err := b.agentOne(ctx, plain(b.ours.lab))
		if err != nil {
			return err
		}
		if i > 0 {
			floor, agent = append(floor, at.Sub(begin)), append(agent, end)
		}
	}
	report("one pod, deleted p50", p50(floor), p50(agent), 1.3)
	return nil
}

func p50(d []time.Duration) time.Duration { return percentile(d, 50) }

func percentile(d []time.Duration, p int) time.Duration {
	s := slices.Sorted(slices.Values(d))
	if len(s) == 0 {
		return 0
	}
	return s[(len(s)-1)*p/100]
}

func report(title string, floor, agent time.Duration, reach float64) {
	ratio := float64(agent) / float64(floor)
	verdict := "reached"
	if ratio > reach {
		verdict = "missed"
	}
	fmt.Printf("%-34s %10s %10s %7.2f  ≤ %-6.2f %s\n", title, ms(floor), ms(agent), ratio, reach, verdict)
}

func ms(d time.Duration) string { return fmt.Sprintf("%.0f ms", float64(d)/float64(time.Millisecond)) }
