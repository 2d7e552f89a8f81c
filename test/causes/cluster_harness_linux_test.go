package causes_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/kubeloupe/kubeloupe/agent"
	"github.com/kubeloupe/kubeloupe/test/lab"
)

// joined is a node of a cluster: a control plane's processes, containerd, and an agent in this process.
type joined struct {
	*node
	*lab.Cluster
	client kubernetes.Interface
}

// cluster starts a cluster and joins it with an agent, until the test ends.
func cluster(t *testing.T) *joined {
	t.Helper()
	up, dir := control(t)
	j := &joined{node: newNode(t, filepath.Join(dir, "node")), Cluster: up}
	var err error
	if j.client, err = up.Client(); err != nil {
		t.Fatal(err)
	}
	j.source.Set() // it has no pods: they come from the API
	k := j.kubelet(
		"--kubeconfig="+filepath.Join(dir, "kubeconfig"), "--bootstrap-kubeconfig="+up.BootstrapKubeconfig, "--config="+up.KubeletConfig,
		"--cert-dir="+filepath.Join(dir, "pki"), "--node-ip="+up.NodeIP,
	)
	j.serve(agent.Config{Kubelet: k, Endpoint: up.RuntimeEndpoint, NodeName: lab.NodeName})
	j.account()
	return j
}

// account waits for the service account of pods, which a controller makes: the agent is ready before.
func (j *joined) account() {
	j.t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
		_, err := j.client.CoreV1().ServiceAccounts("default").Get(j.t.Context(), "default", metav1.GetOptions{})
		if err == nil {
			return
		}
		if time.Now().After(end) {
			j.t.Fatal(err)
		}
	}
}

// control starts a cluster without an agent, until the test ends, and a directory beside it.
func control(t *testing.T) (up *lab.Cluster, dir string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "kl-causes-")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	up, err = lab.UpCluster(ctx, lab.ClusterConfig{Dir: filepath.Join(dir, "lab"), Preload: []lab.Image{lab.ImageBusybox}, Log: t.Output()})
	if err != nil {
		t.Fatal(errors.Join(err, os.RemoveAll(dir)))
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
		defer cancel()
		if err := errors.Join(up.Down(ctx), lab.UnmountBelow(dir), os.RemoveAll(dir)); err != nil {
			t.Error(err)
		}
	})
	return up, dir
}

// create makes a pod in the API, on this node, and deletes it when the test ends if it is still there.
func (j *joined) create(name string, change func(*v1.Pod)) *v1.Pod {
	j.t.Helper()
	p := podOf(name, idle()...)
	p.Spec.Containers[0].Image = j.Image(lab.ImageBusybox)
	bound(p)
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
