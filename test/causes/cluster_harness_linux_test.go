package causes_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	goruntime "runtime"
	"syscall"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/kubeloupe/kubeloupe/agent"
	"github.com/kubeloupe/kubeloupe/test/lab"
)

// clusterInside tells the process in a network namespace of its own from the one that makes it: there is one cluster in each at most.
const clusterInside = "KUBELOUPE_CAUSES_CLUSTER"

// joined is a node of a cluster: a control plane's processes, containerd, and an agent in this process.
type joined struct {
	*node
	*lab.Cluster
	client kubernetes.Interface
}

// alone runs the test again, in a network namespace of its own, and reports whether this is the process there.
func alone(t *testing.T) bool {
	t.Helper()
	if os.Getenv(clusterInside) == "1" {
		if out, err := exec.Command("ip", "link", "set", "lo", "up").CombinedOutput(); err != nil {
			t.Fatalf("ip link set lo up: %v: %s", err, out)
		}
		return true
	}
	switch {
	case os.Geteuid() != 0:
		t.Skip("a cluster needs root")
	case testing.Short():
		t.Skip("a cluster is not for -short")
	case os.Getenv("KUBELOUPE_CLUSTER") != "1" && !lab.ClusterCached():
		t.Skip("the cluster's programs are not built: KUBELOUPE_CLUSTER=1 builds them, or make cluster-up")
	}
	goruntime.LockOSThread() // the child dies with the thread that made it
	defer goruntime.UnlockOSThread()
	cmd := exec.Command("/proc/self/exe", "-test.run=^"+t.Name()+"$", "-test.v", "-test.timeout=10m")
	cmd.Env = append(os.Environ(), clusterInside+"=1")
	cmd.Stdout, cmd.Stderr = t.Output(), t.Output()
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET, Pdeathsig: syscall.SIGKILL}
	if err := cmd.Run(); err != nil {
		t.Errorf("in a network namespace of its own: %v", err)
	}
	return false
}

// cluster starts a cluster and joins it with an agent, until the test ends.
func cluster(t *testing.T) *joined {
	t.Helper()
	dir, err := os.MkdirTemp("", "kl-causes-")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	up, err := lab.UpCluster(ctx, lab.ClusterConfig{Dir: filepath.Join(dir, "lab"), Preload: []lab.Image{lab.ImageBusybox}, Log: t.Output()})
	if err != nil {
		t.Fatal(errors.Join(err, os.RemoveAll(dir)))
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
		defer cancel()
		if err := errors.Join(up.Down(ctx), os.RemoveAll(dir)); err != nil {
			t.Error(err)
		}
	})
	j := &joined{node: newNode(t, filepath.Join(dir, "node")), Cluster: up}
	if j.client, err = up.Client(); err != nil {
		t.Fatal(err)
	}
	j.source.Set() // it has no pods: they come from the API
	k := j.kubelet(
		"--kubeconfig="+filepath.Join(dir, "kubeconfig"), "--bootstrap-kubeconfig="+up.BootstrapKubeconfig, "--config="+up.KubeletConfig,
		"--cert-dir="+filepath.Join(dir, "pki"), "--node-ip="+up.NodeIP,
	)
	j.serve(agent.Config{Kubelet: k, Endpoint: up.RuntimeEndpoint, NodeName: lab.NodeName})
	return j
}

// create makes a pod in the API, on this node, and deletes it when the test ends if it is still there.
func (j *joined) create(name string, change func(*v1.Pod)) *v1.Pod {
	j.t.Helper()
	p := podOf(name, "sh", "-c", "trap 'exit 0' TERM; sleep infinity & wait")
	p.UID = ""
	p.Spec.NodeName = lab.NodeName
	p.Spec.Containers[0].Image = j.Image(lab.ImageBusybox)
	p.Spec.TerminationGracePeriodSeconds = new(int64(1))
	p.Spec.AutomountServiceAccountToken = new(false)
	p.Spec.Tolerations = []v1.Toleration{{Operator: v1.TolerationOpExists}}
	if change != nil {
		change(p)
	}
	pods := j.client.CoreV1().Pods("default")
	p, err := pods.Create(j.t.Context(), p, metav1.CreateOptions{})
	if err != nil {
		j.t.Fatal(err)
	}
	return p
}

// delete asks the API to delete a pod.
func (j *joined) delete(name string) {
	j.t.Helper()
	if err := j.client.CoreV1().Pods("default").Delete(j.t.Context(), name, metav1.DeleteOptions{}); err != nil {
		j.t.Fatal(err)
	}
}
