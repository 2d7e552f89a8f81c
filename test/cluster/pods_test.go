package cluster

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/rand"

	"github.com/kubeloupe/kubeloupe/test/lab"
)

const (
	busybox = "registry.k8s.io/e2e-test-images/busybox:1.37.0-2"
	agnhost = "registry.k8s.io/e2e-test-images/agnhost:2.66.1"
)

// space is a namespace of one test; its pods go when the test ends.
type space struct {
	*bench
	t    *testing.T
	name string
}

func (b *bench) space(t *testing.T) *space {
	t.Helper()
	s := &space{bench: b, t: t, name: "t-" + rand.String(6)}
	ns := &v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.name}}
	if _, err := b.client.CoreV1().Namespaces().Create(t.Context(), ns, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	// The controller that would make it comes back late after an outage.
	account := &v1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	if _, err := b.client.CoreV1().ServiceAccounts(s.name).Create(t.Context(), account, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		out, err := b.Kubectl(context.WithoutCancel(t.Context()), "-n", s.name, "delete", "pods", "--all", "--force", "--grace-period=0", "--wait=false")
		if err != nil {
			t.Errorf("clean up: %v: %s", err, out)
		}
	})
	return s
}

// pod is a pod on the node that runs the script, and ends soon when told to.
func pod(name, script string) *v1.Pod {
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: v1.PodSpec{
			NodeName:                      lab.NodeName,
			TerminationGracePeriodSeconds: new(int64(1)),
			AutomountServiceAccountToken:  new(false),
			Tolerations:                   []v1.Toleration{{Operator: v1.TolerationOpExists}},
			Containers:                    []v1.Container{container("main", script)},
		},
	}
}

const forever = "trap 'exit 0' TERM; while :; do sleep 1 & wait $!; done"

func container(name, script string) v1.Container {
	return v1.Container{Name: name, Image: busybox, Command: []string{"sh", "-c", script}}
}

func (s *space) create(pods ...*v1.Pod) {
	s.t.Helper()
	for _, p := range pods {
		if _, err := s.client.CoreV1().Pods(s.name).Create(s.t.Context(), p, metav1.CreateOptions{}); err != nil {
			s.t.Fatal(err)
		}
	}
}

func (s *space) get(name string) (*v1.Pod, error) {
	return s.client.CoreV1().Pods(s.name).Get(s.t.Context(), name, metav1.GetOptions{})
}

// wait waits until the pod is as wanted, and returns it.
func (s *space) wait(name, what string, ok func(*v1.Pod) bool) *v1.Pod {
	s.t.Helper()
	var p *v1.Pod
	eventually(s.t, fmt.Sprintf("%s: %s", name, what), func() string {
		var err error
		if p, err = s.get(name); err != nil {
			return err.Error()
		}
		if ok(p) {
			return ""
		}
		return short(p)
	})
	return p
}

func short(p *v1.Pod) string {
	var b strings.Builder
	fmt.Fprintf(&b, "phase %s %s %s", p.Status.Phase, p.Status.Reason, p.Status.Message)
	for _, list := range [][]v1.ContainerStatus{p.Status.InitContainerStatuses, p.Status.ContainerStatuses} {
		for _, c := range list {
			fmt.Fprintf(&b, "; %s: restarts %d, ready %v, %s", c.Name, c.RestartCount, c.Ready, &c.State)
		}
	}
	for _, c := range p.Status.Conditions {
		fmt.Fprintf(&b, "; %s=%s %s", c.Type, c.Status, c.Reason)
	}
	return b.String()
}

func isReady(p *v1.Pod) bool { return condition(p, v1.PodReady) == v1.ConditionTrue }

func condition(p *v1.Pod, which v1.PodConditionType) v1.ConditionStatus {
	for _, c := range p.Status.Conditions {
		if c.Type == which {
			return c.Status
		}
	}
	return ""
}

func (s *space) ready(names ...string) {
	s.t.Helper()
	for _, n := range names {
		s.wait(n, "ready", isReady)
	}
}

// delete asks for the pods' end; grace is -1 for the pods' own.
func (s *space) delete(grace int64, names ...string) {
	s.t.Helper()
	var o metav1.DeleteOptions
	if grace >= 0 {
		o.GracePeriodSeconds = new(grace)
	}
	for _, n := range names {
		if err := s.client.CoreV1().Pods(s.name).Delete(s.t.Context(), n, o); err != nil && !apierrors.IsNotFound(err) {
			s.t.Fatal(err)
		}
	}
}

// gone waits until the API has no pods of the namespace.
func (s *space) gone() {
	s.t.Helper()
	eventually(s.t, "no pods", func() string {
		list, err := s.client.CoreV1().Pods(s.name).List(s.t.Context(), metav1.ListOptions{})
		if err != nil {
			return err.Error()
		}
		if len(list.Items) == 0 {
			return ""
		}
		return fmt.Sprintf("%d, %s: %s", len(list.Items), list.Items[0].Name, short(&list.Items[0]))
	})
}

// waiting matches a container of the pod that waits for that reason.
func waiting(reason string) func(*v1.Pod) bool {
	return func(p *v1.Pod) bool {
		for _, c := range p.Status.ContainerStatuses {
			if c.State.Waiting != nil && c.State.Waiting.Reason == reason {
				return true
			}
		}
		return false
	}
}

// event waits for an event of the pod and returns its message.
func (s *space) event(pod, reason string) string {
	s.t.Helper()
	var message string
	eventually(s.t, pod+" to have event "+reason, func() string {
		list, err := s.client.CoreV1().Events(s.name).List(s.t.Context(), metav1.ListOptions{FieldSelector: "involvedObject.name=" + pod})
		if err != nil {
			return err.Error()
		}
		var has []string
		for _, e := range list.Items {
			if e.Reason == reason {
				message = e.Message
				return ""
			}
			has = append(has, e.Reason)
		}
		return "it has " + strings.Join(has, ", ")
	})
	return message
}

// kubectl runs kubectl in the namespace and returns what it said.
func (s *space) kubectl(args ...string) string {
	s.t.Helper()
	out, err := s.Kubectl(s.t.Context(), append([]string{"-n", s.name}, args...)...)
	if err != nil {
		s.t.Errorf("kubectl %s: %v: %s", strings.Join(args, " "), err, out)
	}
	return out
}

// resources are requests and limits of a guaranteed container.
func resources(cpu, memory string) v1.ResourceRequirements {
	list := v1.ResourceList{v1.ResourceCPU: resource.MustParse(cpu), v1.ResourceMemory: resource.MustParse(memory)}
	return v1.ResourceRequirements{Requests: list, Limits: list}
}

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
