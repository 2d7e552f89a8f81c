package faultcorpus_test

import (
	"context"
	"path/filepath"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/kubeloupe/kubeloupe/test/lab"
	"github.com/kubeloupe/kubeloupe/trace"
)

// apiServer is the control plane of a bed whose agents join a cluster.
type apiServer struct {
	*lab.Cluster
	client kubernetes.Interface
}

// upCluster starts a laboratory with a control plane.
func (b *bed) upCluster(ctx context.Context, cfg lab.Config) error {
	up, err := lab.UpCluster(ctx, lab.ClusterConfig{Dir: cfg.Dir, Preload: []lab.Image{lab.ImageBusybox}, Log: cfg.Log})
	if err != nil {
		return err
	}
	b.Lab, b.api = up.Lab, &apiServer{Cluster: up}
	b.api.client, err = up.Client()
	return err
}

// takeDown takes the laboratory down, with its control plane.
func (b *bed) takeDown(ctx context.Context) error {
	if b.api != nil {
		return b.api.Down(ctx)
	}
	return b.Down(ctx)
}

// flags has an agent join the cluster. All agents of a bed have one identity.
func (a *apiServer) flags() []string {
	dir := filepath.Join(filepath.Dir(a.Dir), "node")
	return []string{
		"--kubeconfig=" + filepath.Join(dir, "kubeconfig"), "--bootstrap-kubeconfig=" + a.BootstrapKubeconfig, "--config=" + a.KubeletConfig,
		"--cert-dir=" + filepath.Join(dir, "pki"), "--node-ip=" + a.NodeIP,
	}
}

// create makes a pod in the API, on this node, until the case ends.
func (s *scene) create(p *v1.Pod) {
	s.t.Helper()
	p.UID, p.Spec.NodeName = "", lab.NodeName
	p.Spec.AutomountServiceAccountToken = new(false)
	p.Spec.Tolerations = []v1.Toleration{{Operator: v1.TolerationOpExists}}
	pods := s.api.client.CoreV1().Pods(p.Namespace)
	if _, err := pods.Create(s.t.Context(), p, metav1.CreateOptions{}); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() {
		if err := pods.Delete(context.WithoutCancel(s.t.Context()), p.Name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			s.t.Error(err)
			return
		}
		s.reached(p.Name, trace.MilestoneGone)
	})
}

// configMap makes a ConfigMap in the API until the case ends.
func (s *scene) configMap(name string, data map[string]string) {
	s.t.Helper()
	maps := s.api.client.CoreV1().ConfigMaps("default")
	if _, err := maps.Create(s.t.Context(), &v1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: data}, metav1.CreateOptions{}); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() {
		if err := maps.Delete(context.WithoutCancel(s.t.Context()), name, metav1.DeleteOptions{}); err != nil {
			s.t.Error(err)
		}
	})
}
