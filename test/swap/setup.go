package main

import (
	"context"
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeloupe/kubeloupe/test/lab"
)

//go:embed pods.yaml
var pods string

//go:embed static.yaml
var static string

func (s *swap) fill(manifest string) string {
	return strings.NewReplacer(
		"${HTTP}", s.cluster.Image(lab.ImageHTTP),
		"${BUSYBOX}", s.cluster.Image(lab.ImageBusybox),
		"${AGNHOST}", "registry.k8s.io/e2e-test-images/agnhost:2.66.1",
		"${REGISTRY}", s.cluster.Registry,
		"${DRIVER}", driver,
		"${DIR}", s.cluster.Dir,
	).Replace(manifest)
}

func (s *swap) staticFile() string {
	return filepath.Join(s.cluster.Dir, "cluster", "node", "manifests", "swap-static.yaml")
}

// makePods makes the pods and waits until each is what it shall be.
func (s *swap) makePods(ctx context.Context) error {
	ns := &v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
	if _, err := s.client.CoreV1().Namespaces().Create(ctx, ns, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	err := await(ctx, 20*time.Second, func() error {
		_, err := s.client.CoreV1().ServiceAccounts(namespace).Get(ctx, "default", metav1.GetOptions{})
		return err
	})
	if err != nil {
		return err
	}
	file := filepath.Join(s.cluster.Dir, "swap.yaml")
	if err := os.WriteFile(file, []byte(s.fill(pods)), 0o644); err != nil {
		return err
	}
	if out, err := s.cluster.Kubectl(ctx, "apply", "--server-side", "-f", file); err != nil {
		return fmt.Errorf("make the pods: %w: %s", err, out)
	}
	if err := os.WriteFile(s.staticFile(), []byte(s.fill(static)), 0o644); err != nil {
		return err
	}
	if err := await(ctx, 90*time.Second, func() error { return s.openGate(ctx) }); err != nil {
		return err
	}
	return await(ctx, 3*time.Minute, func() error { return s.settled(ctx) })
}

func (s *swap) openGate(ctx context.Context) error {
	patch := `{"status":{"conditions":[{"type":"swap/gate","status":"True"}]}}`
	_, err := s.client.CoreV1().Pods(namespace).Patch(ctx, "gated", types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{}, "status")
	return err
}

// settled reports which pod is not yet what it shall be.
func (s *swap) settled(ctx context.Context) error {
	list, err := s.client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	if want := strings.Count(pods, "kind: Pod\n") + strings.Count(pods, "template:") + 2; len(list.Items) != want {
		return fmt.Errorf("%d pods, want %d", len(list.Items), want)
	}
	for _, p := range list.Items {
		if err := settledPod(&p); err != nil {
			return fmt.Errorf("pod %s: %w", p.Name, err)
		}
	}
	return nil
}

func settledPod(p *v1.Pod) error {
	switch {
	case strings.HasPrefix(p.Name, "job-"):
		return wantPhase(p, v1.PodSucceeded)
	case p.Name == "failed":
		return wantPhase(p, v1.PodFailed)
	case p.Name == "initializing":
		if st := p.Status.InitContainerStatuses; len(st) != 1 || st[0].State.Running == nil {
			return fmt.Errorf("its init container does not run: %v", st)
		}
		return wantPhase(p, v1.PodPending)
	case p.Name == "pulling", p.Name == "mounting":
		return wantPhase(p, v1.PodPending)
	case p.Name == "restarted" && p.Status.ContainerStatuses != nil && p.Status.ContainerStatuses[0].RestartCount != 1:
		return fmt.Errorf("%d restarts, want 1", p.Status.ContainerStatuses[0].RestartCount)
	case !ready(p):
		return fmt.Errorf("not ready: %s", p.Status.Phase)
	}
	return nil
}

func wantPhase(p *v1.Pod, want v1.PodPhase) error {
	if p.Status.Phase != want {
		return fmt.Errorf("phase %s, want %s", p.Status.Phase, want)
	}
	return nil
}

func ready(p *v1.Pod) bool {
	for _, c := range p.Status.Conditions {
		if c.Type == v1.PodReady {
			return c.Status == v1.ConditionTrue
		}
	}
	return false
}

// await tries until there is no error, or returns the last one.
func await(ctx context.Context, limit time.Duration, try func() error) error {
	end := time.Now().Add(limit)
	for {
		err := try()
		if err == nil || time.Now().After(end) || ctx.Err() != nil {
			return err
		}
		time.Sleep(200 * time.Millisecond)
	}
}

// driverProcess is the CSI driver.
type driverProcess struct{ cmd *exec.Cmd }

func (s *swap) startDriver(ctx context.Context) (*driverProcess, error) {
	program := filepath.Join(s.cluster.Dir, "csidriver")
	build := exec.CommandContext(ctx, "go", "build", "-o", program, "./test/lab/csidriver")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build the CSI driver: %w: %s", err, out)
	}
	registry := filepath.Join(s.agent.RootDir, "plugins_registry")
	if err := os.MkdirAll(registry, 0o755); err != nil {
		return nil, err
	}
	data := filepath.Join(s.cluster.Dir, "csidata")
	if err := os.MkdirAll(data, 0o755); err != nil {
		return nil, err
	}
	cmd := exec.Command(program, "-name", driver, "-node", lab.NodeName, "-data", data,
		"-endpoint", filepath.Join(s.cluster.Dir, "csi.sock"), "-registration", filepath.Join(registry, "lab-reg.sock"))
	log, err := os.Create(filepath.Join(s.cluster.Dir, "csidriver.log"))
	if err != nil {
		return nil, err
	}
	defer func() { _ = log.Close() }()
	cmd.Stdout, cmd.Stderr = log, log
	return &driverProcess{cmd: cmd}, cmd.Start()
}

func (d *driverProcess) stop() error {
	if err := d.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	_ = d.cmd.Wait()
	return nil
}
