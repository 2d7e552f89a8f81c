package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"google.golang.org/grpc"
	v1 "k8s.io/api/core/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/kubeloupe/kubeloupe/agent/cgroup"
	"github.com/kubeloupe/kubeloupe/agent/criconfig"
	"github.com/kubeloupe/kubeloupe/test/lab"
)

// direct makes the CRI calls that a pod cannot do without, and nothing else.
type direct struct {
	lab     *lab.Lab
	conn    *grpc.ClientConn
	runtime runtimeapi.RuntimeServiceClient
	image   runtimeapi.ImageServiceClient
	node    criconfig.Node
	// events are what the runtime tells; see listen.
	events *events
}

func newDirect(l *lab.Lab) (*direct, error) {
	conn, err := l.Dial()
	if err != nil {
		return nil, err
	}
	return &direct{
		lab: l, conn: conn, runtime: runtimeapi.NewRuntimeServiceClient(conn), image: runtimeapi.NewImageServiceClient(conn),
		node: criconfig.Node{
			LogRoot: filepath.Join(l.Dir, "floor-logs"), MemoryCapacity: 8 << 30,
			CFSQuota: true, HugePageSizes: cgroup.HugePageSizes("/sys"),
		},
	}, nil
}

// made is a pod that runs.
type made struct {
	pod        *v1.Pod
	sandbox    string
	config     *runtimeapi.PodSandboxConfig
	volumes    map[string]criconfig.Volume
	containers []string
	attempt    int
}

// start makes a pod: RunPodSandbox, then (pull,) create and start of each container. The requests are
// the agent's, down to the hosts file, the termination log and a cgroup of the pod's own.
func (d *direct) start(ctx context.Context, pod *v1.Pod, pull bool) (*made, error) {
	sc, err := criconfig.Sandbox(pod, d.node, criconfig.SandboxInput{
		CgroupParent: d.lab.CgroupRoot + "/kubepods/besteffort/pod" + string(pod.UID), DNS: &runtimeapi.DNSConfig{},
	})
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(sc.GetLogDirectory(), 0o755); err != nil {
		return nil, err
	}
	volumes, err := d.volumes(pod)
	if err != nil {
		return nil, err
	}
	sb, err := d.runtime.RunPodSandbox(ctx, &runtimeapi.RunPodSandboxRequest{Config: sc})
	if err != nil {
		return nil, err
	}
	m := &made{pod: pod, sandbox: sb.GetPodSandboxId(), config: sc, volumes: volumes}
	for i := range pod.Spec.InitContainers {
		if err := d.container(ctx, m, &pod.Spec.InitContainers[i], pull); err != nil {
			return m, err
		}
		if _, err := d.events.awaitStopped(ctx, pod.Name, i+1); err != nil {
			return m, err
		}
	}
	for i := range pod.Spec.Containers {
		if err := d.container(ctx, m, &pod.Spec.Containers[i], pull); err != nil {
			return m, err
		}
	}
	return m, nil
}

// container (pulls,) creates and starts one container.
func (d *direct) container(ctx context.Context, m *made, c *v1.Container, pull bool) error {
	if pull {
		if _, err := d.image.PullImage(ctx, &runtimeapi.PullImageRequest{Image: &runtimeapi.ImageSpec{Image: c.Image}}); err != nil {
			return err
		}
	}
	files, err := d.files(m.pod)
	if err != nil {
		return err
	}
	cc, err := criconfig.Container(m.pod, c, d.node, criconfig.ContainerInput{
		RestartCount: m.attempt, ImageRef: c.Image, Volumes: m.volumes, HostsFile: files.hosts, TerminationLog: files.words,
	})
	if err != nil {
		return err
	}
	made, err := d.runtime.CreateContainer(ctx, &runtimeapi.CreateContainerRequest{PodSandboxId: m.sandbox, Config: cc, SandboxConfig: m.config})
	if err != nil {
		return err
	}
	m.containers = append(m.containers, made.GetContainerId())
	_, err = d.runtime.StartContainer(ctx, &runtimeapi.StartContainerRequest{ContainerId: made.GetContainerId()})
	return err
}

// files are what every container has mounted.
type files struct{ hosts, words string }

func (d *direct) files(pod *v1.Pod) (files, error) {
	dir := filepath.Join(d.lab.Dir, "floor-files", pod.Name)
	f := files{hosts: filepath.Join(dir, "hosts"), words: filepath.Join(dir, "termination-log")}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return f, err
	}
	return f, errors.Join(os.WriteFile(f.hosts, []byte("127.0.0.1\tlocalhost\n"), 0o644), os.WriteFile(f.words, nil, 0o666))
}

// volumes makes directories for the pod's volumes: what is mounted is the same on both sides.
func (d *direct) volumes(pod *v1.Pod) (map[string]criconfig.Volume, error) {
	out := map[string]criconfig.Volume{}
	for _, v := range pod.Spec.Volumes {
		path := filepath.Join(d.lab.Dir, "floor-volumes", pod.Name, v.Name)
		if v.HostPath != nil {
			path = v.HostPath.Path
		}
		if err := os.MkdirAll(path, 0o777); err != nil {
			return nil, err
		}
		out[v.Name] = criconfig.Volume{HostPath: path}
	}
	return out, nil
}

// stop ends and removes a pod: StopContainer, StopPodSandbox, RemovePodSandbox.
func (d *direct) stop(ctx context.Context, m *made) error {
	for _, id := range m.containers {
		if _, err := d.runtime.StopContainer(ctx, &runtimeapi.StopContainerRequest{ContainerId: id, Timeout: 30}); err != nil {
			return err
		}
	}
	if _, err := d.runtime.StopPodSandbox(ctx, &runtimeapi.StopPodSandboxRequest{PodSandboxId: m.sandbox}); err != nil {
		return err
	}
	for _, id := range m.containers {
		if _, err := d.runtime.RemoveContainer(ctx, &runtimeapi.RemoveContainerRequest{ContainerId: id}); err != nil {
			return err
		}
	}
	_, err := d.runtime.RemovePodSandbox(ctx, &runtimeapi.RemovePodSandboxRequest{PodSandboxId: m.sandbox})
	return err
}

// burst makes pods, at most width at a time, in order.
func (d *direct) burst(ctx context.Context, pods []*v1.Pod, width int) ([]*made, error) {
	out, errs := make([]*made, len(pods)), make([]error, len(pods))
	next, done := make(chan int), make(chan struct{})
	for range width {
		go func() {
			for i := range next {
				out[i], errs[i] = d.start(ctx, pods[i], false)
			}
			done <- struct{}{}
		}()
	}
	for i := range pods {
		next <- i
	}
	close(next)
	for range width {
		<-done
	}
	for _, err := range errs {
		if err != nil {
			return out, err
		}
	}
	return out, nil
}

// drop removes an image and waits for its content to be collected, so that the
// next pull fetches all of it.
func (d *direct) drop(ctx context.Context, image string) error {
	if _, err := d.image.RemoveImage(ctx, &runtimeapi.RemoveImageRequest{Image: &runtimeapi.ImageSpec{Image: image}}); err != nil {
		return err
	}
	for range 100 {
		r, err := d.image.ImageStatus(ctx, &runtimeapi.ImageStatusRequest{Image: &runtimeapi.ImageSpec{Image: image}})
		if err != nil {
			return err
		}
		if r.GetImage() == nil {
			time.Sleep(200 * time.Millisecond) // containerd collects content in the background
			return nil
		}
		time.Sleep(20 * time.Millisecond)
	}
	return fmt.Errorf("image %s is still there", image)
}
