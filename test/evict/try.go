package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	scheduling "k8s.io/api/scheduling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/kubeloupe/kubeloupe/test/lab"
)

// settled is how long pods have used a part before one pushes: upstream's figures of pods are up to a minute old. limit is how long to wait
// for the evictions of a scenario; quiet, for one more.
const (
	settled = 75 * time.Second
	limit   = 4 * time.Minute
	quiet   = 25 * time.Second
)

type bench struct {
	cluster *lab.Cluster
	client  kubernetes.Interface
}

// eviction is a pod that was evicted.
type eviction struct {
	pod, message string
	after        time.Duration // since the pods began to use the resource
}

type result []eviction

func (r result) order() string {
	var out []string
	for _, e := range r {
		out = append(out, e.pod)
	}
	if len(r) > 0 && strings.Contains(r[0].message, "exceed") {
		slices.Sort(out) // limits have no order
	}
	return strings.Join(out, " ")
}

// String implements fmt.Stringer.
func (r result) String() string {
	var out []string
	for _, e := range r {
		out = append(out, fmt.Sprintf("%s %.1fs", e.pod, e.after.Seconds()))
	}
	return strings.Join(out, ", ")
}

// priorities creates the classes.
func (b *bench) priorities(ctx context.Context) error {
	for name, value := range map[string]int32{"evict-low": -10, "evict-high": 1000} {
		c := &scheduling.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Value: value}
		if _, err := b.client.SchedulingV1().PriorityClasses().Create(ctx, c, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
			return err
		}
	}
	return nil
}

// try runs a scenario with an agent of its own.
func (b *bench) try(ctx context.Context, s *scenario, kind lab.AgentKind, state string) (out result, err error) {
	root := filepath.Join(b.cluster.Dir, "cluster", "node", state, "root")
	if err := os.MkdirAll(root, 0o755); err != nil {
		return nil, err
	}
	if s.loop {
		unmount, err := mount(ctx, root)
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, unmount()) }()
	}
	var broken error
	config, err := b.cluster.WriteKubeletConfig(state, func(c map[string]any) { broken = s.config(c) })
	if err = errors.Join(err, broken); err != nil {
		return nil, err
	}
	agent, err := b.cluster.StartAgent(ctx, lab.AgentConfig{Kind: kind, State: state, KubeletConfig: config, Log: os.Stderr})
	if err != nil {
		return nil, err
	}
	defer func() {
		ctx := context.WithoutCancel(ctx)
		err = errors.Join(err, b.clean(ctx), agent.Stop(ctx))
	}()
	if err := agent.WaitReady(ctx); err != nil {
		return nil, err
	}
	gate := filepath.Join(b.cluster.Dir, state+"-gate")
	if err := os.MkdirAll(gate, 0o755); err != nil {
		return nil, err
	}
	for i := range s.pods {
		if _, err := b.client.CoreV1().Pods(v1.NamespaceDefault).Create(ctx, b.pod(&s.pods[i], gate), metav1.CreateOptions{}); err != nil {
			return nil, err
		}
	}
	if err := b.running(ctx, len(s.pods)); err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(gate, "use"), nil, 0o644); err != nil {
		return nil, err
	}
	select {
	case <-time.After(settled):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	began := time.Now()
	if err := os.WriteFile(filepath.Join(gate, "push"), nil, 0o644); err != nil {
		return nil, err
	}
	return b.watch(ctx, s.gone, began)
}

// pod waits for the gate, then uses what it shall use.
func (b *bench) pod(s *subject, gate string) *v1.Pod {
	list := func(in map[string]string) v1.ResourceList {
		out := v1.ResourceList{}
		for k, v := range in {
			out[v1.ResourceName(k)] = resource.MustParse(v)
		}
		return out
	}
	data := &v1.EmptyDirVolumeSource{}
	if s.memory {
		data.Medium = v1.StorageMediumMemory
	}
	if s.sizeLimit != "" {
		data.SizeLimit = new(resource.MustParse(s.sizeLimit))
	}
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: s.name},
		Spec: v1.PodSpec{
			NodeName: lab.NodeName, PriorityClassName: s.priority, TerminationGracePeriodSeconds: new(int64(1)), AutomountServiceAccountToken: new(false),
			Tolerations: []v1.Toleration{{Operator: v1.TolerationOpExists}}, RestartPolicy: v1.RestartPolicyNever,
			Containers: []v1.Container{{
				Name: "main", Image: b.cluster.Image(lab.ImageBusybox),
				Command:      []string{"sh", "-c", "trap 'exit 143' TERM; await() { until [ -e /gate/$1 ]; do sleep 0.1; done; }; await use; " + program("a", s.use) + program("b", s.push) + "while :; do sleep 1 & wait $!; done"},
				Resources:    v1.ResourceRequirements{Limits: list(s.limits), Requests: list(s.requests)},
				VolumeMounts: []v1.VolumeMount{{Name: "data", MountPath: "/data"}, {Name: "gate", MountPath: "/gate"}},
			}},
			Volumes: []v1.Volume{
				{Name: "data", VolumeSource: v1.VolumeSource{EmptyDir: data}},
				{Name: "gate", VolumeSource: v1.VolumeSource{HostPath: &v1.HostPathVolumeSource{Path: gate}}},
			},
		},
	}
}

// program runs a part, with a letter for the names of its files, and waits for the push after the first.
func program(letter, text string) string {
	then := ""
	if letter == "a" {
		then = "await push; "
	}
	if text == "" {
		return then
	}
	return "set " + letter + "; " + text + "; " + then
}

// running waits until all pods run.
func (b *bench) running(ctx context.Context, n int) error {
	end := time.Now().Add(2 * time.Minute)
	for {
		list, err := b.client.CoreV1().Pods(v1.NamespaceDefault).List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		up := 0
		for _, p := range list.Items {
			if p.Status.Phase == v1.PodRunning {
				up++
			}
		}
		if up == n {
			return nil
		}
		if time.Now().After(end) || ctx.Err() != nil {
			return fmt.Errorf("%d of %d pods run", up, n)
		}
		time.Sleep(200 * time.Millisecond)
	}
}

// watch follows the Events until as many pods as expected are evicted, and looks for one more. A pod's status is not enough: with upstream's
// kubelet, that of a pod whose containers end with success does not tell.
func (b *bench) watch(ctx context.Context, want int, began time.Time) (out result, err error) {
	seen := map[types.UID]bool{}
	end := began.Add(limit)
	for time.Now().Before(end) && ctx.Err() == nil {
		list, err := b.client.CoreV1().Events(v1.NamespaceDefault).List(ctx, metav1.ListOptions{FieldSelector: "reason=Evicted"})
		if err != nil {
			return nil, err
		}
		for _, e := range list.Items {
			if e.FirstTimestamp.Time.Before(began.Add(-time.Second)) || seen[e.InvolvedObject.UID] {
				continue
			}
			seen[e.InvolvedObject.UID] = true
			out = append(out, eviction{e.InvolvedObject.Name, e.Message, time.Since(began)})
			fmt.Fprintf(os.Stderr, "%s: %s\n", e.InvolvedObject.Name, e.Message)
			if len(out) >= want {
				end = time.Now().Add(quiet)
			}
		}
		time.Sleep(100 * time.Millisecond)
	}
	return out, ctx.Err()
}

// clean deletes the pods, as long as there is an agent to end them.
func (b *bench) clean(ctx context.Context) error {
	pods := b.client.CoreV1().Pods(v1.NamespaceDefault)
	if err := pods.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
		return err
	}
	for range 300 {
		list, err := pods.List(ctx, metav1.ListOptions{})
		if err == nil && len(list.Items) == 0 {
			return nil
		}
		time.Sleep(200 * time.Millisecond)
	}
	return errors.New("the pods are not gone after a minute")
}

// mount makes a small file system on a loop device.
func mount(ctx context.Context, dir string) (unmount func() error, err error) {
	image := dir + ".img"
	for _, argv := range [][]string{
		{"truncate", "-s", "256M", image},
		{"mkfs.ext4", "-q", "-F", "-N", "4096", "-m", "0", image},
		{"mount", "-o", "loop", image, dir},
	} {
		if out, err := exec.CommandContext(ctx, argv[0], argv[1:]...).CombinedOutput(); err != nil {
			return nil, fmt.Errorf("%s: %w: %s", strings.Join(argv, " "), err, out)
		}
	}
	return func() error {
		var last error
		for range 50 { // volumes of pods may be busy for a moment
			if last = exec.Command("umount", dir).Run(); last == nil {
				return os.Remove(image)
			}
			time.Sleep(200 * time.Millisecond)
		}
		return fmt.Errorf("unmount %s: %w", dir, last)
	}, nil
}
