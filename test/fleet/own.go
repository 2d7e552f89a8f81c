package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"google.golang.org/grpc"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/kubeloupe/kubeloupe/test/collector"
	"github.com/kubeloupe/kubeloupe/test/lab"
)

const (
	// patience is how long one thing may take on a machine that is busy; every is how often it is looked whether it is so.
	patience = 2 * time.Minute
	every    = 20 * time.Millisecond
	// lives is how long a pod stays after its start: it is ready then.
	lives = 200 * time.Millisecond
	// untilTerm ends at SIGTERM, so that the next start need not wait for the end of the pod's grace period.
	untilTerm = `trap "exit 0" TERM; sleep 1000 & wait`
)

// own is a standalone node of kubeloupe.
type own struct {
	lab            *lab.Lab
	conn           *grpc.ClientConn
	runtime        runtimeapi.RuntimeServiceClient
	host           string
	manifests, tmp string
	address, sock  string
	receiver, ca   string // the address where spans are sent to, and the file of its CA
	process        *process
}

const ownConfig = `apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
podLogsDir: %s
readOnlyPort: %s
address: 127.0.0.1
%s`

const ownTracing = "tracing: {endpoint: %q, samplingRatePerMillion: 1000000}\n"

func newOwn(ctx context.Context, f *fleet) (_ node, err error) {
	dir := filepath.Join(f.dir, "own")
	n := &own{manifests: filepath.Join(dir, "manifests"), tmp: dir, sock: filepath.Join(dir, "s.sock"), receiver: f.receiver.addr, ca: f.ca}
	defer func() {
		if err != nil {
			err = errors.Join(err, n.close(context.WithoutCancel(ctx)))
		}
	}()
	if err := errors.Join(os.MkdirAll(n.manifests, 0o755), os.MkdirAll(n.logs(), 0o755)); err != nil {
		return nil, err
	}
	if n.host, err = os.Hostname(); err != nil {
		return nil, err
	}
	n.host = strings.ToLower(n.host)
	if n.lab, err = lab.Up(ctx, lab.Config{Dir: filepath.Join(dir, "lab"), Preload: []lab.Image{lab.ImageBusybox}, Log: os.Stderr}); err != nil {
		return nil, err
	}
	if n.conn, err = n.lab.Dial(); err != nil {
		return nil, err
	}
	n.runtime = runtimeapi.NewRuntimeServiceClient(n.conn)
	if n.address, err = collector.FreeAddress(ctx); err != nil {
		return nil, err
	}
	return n, n.launch(ctx, f.bin, true)
}

func (n *own) logs() string { return filepath.Join(n.tmp, "log", "pods") }

// launch starts the agent, which sends its spans or not.
func (n *own) launch(ctx context.Context, bin string, sends bool) (err error) {
	more := lab.AnyDisk
	if sends {
		more = fmt.Sprintf(ownTracing, n.receiver) + more
	}
	config := filepath.Join(n.tmp, "config.yaml")
	_, port, _ := strings.Cut(n.address, ":")
	if err := os.WriteFile(config, fmt.Appendf(nil, ownConfig, n.logs(), port, more), 0o600); err != nil {
		return err
	}
	var env []string
	if n.ca != "" { // as for upstream's kubelet: KubeletConfiguration has nothing about TLS
		env = append(env, "OTEL_EXPORTER_OTLP_CERTIFICATE="+n.ca)
	}
	n.process, err = spawn(filepath.Join(n.tmp, "out"), env, bin, "run", "--no-tui", "--config", config, "--root-dir", filepath.Join(n.tmp, "kubelet"),
		"--pod-manifest-path", n.manifests, "--cgroup-root", n.lab.CgroupRoot, "--container-runtime-endpoint", n.lab.RuntimeEndpoint,
		"--healthz-port", "0", "--control-socket", n.sock, "--otlp-http", fmt.Sprintf("127.0.0.1:%d", n.lab.OTLPPort))
	if err != nil {
		return err
	}
	return awaitMetrics(ctx, n)
}

func (n *own) name() string    { return n.host }
func (n *own) pid() int        { return n.process.pid() }
func (n *own) metrics() string { return "http://" + n.address + "/metrics" }
func (n *own) socket() string  { return n.sock }

// start implements node: the time is from the manifest's until the container runs, by the runtime's clock.
func (n *own) start(ctx context.Context, i int) (time.Duration, string, error) {
	grace := int64(0)
	name := fmt.Sprintf("own-%d", i)
	text, err := json.Marshal(&v1.Pod{
		TypeMeta: metav1.TypeMeta{Kind: "Pod", APIVersion: "v1"}, ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "fleet"},
		Spec: v1.PodSpec{
			TerminationGracePeriodSeconds: &grace,
			Containers:                    []v1.Container{{Name: "main", Image: n.lab.Image(lab.ImageBusybox), Command: []string{"sh", "-c", untilTerm}, ImagePullPolicy: v1.PullIfNotPresent}},
		},
	})
	if err != nil {
		return 0, "", err
	}
	pod, file := name+"-"+n.host, filepath.Join(n.manifests, name+".json")
	if err := os.WriteFile(filepath.Join(n.tmp, name), text, 0o600); err != nil {
		return 0, "", err
	}
	at := time.Now()
	if err := os.Rename(filepath.Join(n.tmp, name), file); err != nil {
		return 0, "", err
	}
	took, err := n.running(ctx, pod, at)
	time.Sleep(lives)
	if err := errors.Join(err, os.Remove(file)); err != nil {
		return 0, "", err
	}
	return took, pod, n.gone(ctx, pod)
}

// running waits until the pod's container runs.
func (n *own) running(ctx context.Context, pod string, since time.Time) (took time.Duration, err error) {
	err = until(ctx, "start of "+pod, func() (bool, error) {
		list, err := n.runtime.ListContainers(ctx, &runtimeapi.ListContainersRequest{Filter: &runtimeapi.ContainerFilter{
			LabelSelector: map[string]string{"io.kubernetes.pod.name": pod}, State: &runtimeapi.ContainerStateValue{State: runtimeapi.ContainerState_CONTAINER_RUNNING},
		}})
		if err != nil || len(list.GetContainers()) == 0 {
			return false, err
		}
		r, err := n.runtime.ContainerStatus(ctx, &runtimeapi.ContainerStatusRequest{ContainerId: list.GetContainers()[0].GetId()})
		took = time.Unix(0, r.GetStatus().GetStartedAt()).Sub(since)
		return err == nil, err
	})
	return took, err
}

// gone waits until the runtime has nothing of the pod.
func (n *own) gone(ctx context.Context, pod string) error {
	return until(ctx, "end of "+pod, func() (bool, error) {
		list, err := n.runtime.ListPodSandbox(ctx, &runtimeapi.ListPodSandboxRequest{Filter: &runtimeapi.PodSandboxFilter{
			LabelSelector: map[string]string{"io.kubernetes.pod.name": pod},
		}})
		return err == nil && len(list.GetItems()) == 0, err
	})
}

func (n *own) close(ctx context.Context) (err error) {
	err = n.process.stop()
	if n.conn != nil {
		err = errors.Join(err, n.conn.Close())
	}
	if n.lab != nil {
		err = errors.Join(err, n.lab.Down(ctx))
	}
	return err
}

// until looks until something is so.
func until(ctx context.Context, what string, so func() (bool, error)) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		if ok, err := so(); ok || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for the %s: %w", what, ctx.Err())
		case <-time.After(every):
		}
	}
}
