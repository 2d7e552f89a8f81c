package podruntime

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"google.golang.org/protobuf/proto"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/uuid"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/kubeloupe/kubeloupe/agent/cri"
	"github.com/kubeloupe/kubeloupe/agent/criconfig"
	"github.com/kubeloupe/kubeloupe/agent/fieldpath"
	"github.com/kubeloupe/kubeloupe/agent/podspec"
	"github.com/kubeloupe/kubeloupe/agent/podstate"
	"github.com/kubeloupe/kubeloupe/agent/redact"
)

// create creates a container in the sandbox.
//
// Upstream: pkg/kubelet/kuberuntime/kuberuntime_container.go, startContainer.
func (r *run) create(ctx context.Context, s *Step) error {
	req, err := r.createOnce(cri.Ungated(ctx), s)
	if err != nil {
		return err
	}
	if err := r.actuated(s.Container); err != nil {
		err = unconfigured(s.Container, err)
		r.say(ctx, "Warning", "Failed", "Error: "+err.Error(), s.Container)
		return err
	}
	call, done := patient(ctx)
	res, err := r.cfg.Containers.CreateContainer(cri.WithShown(call, req, r.shownOf(s, req)), req)
	done()
	if err != nil {
		r.say(ctx, "Warning", "Failed", "Error: "+message(err), s.Container)
		return fmt.Errorf("create container %s: %w", s.Container, err)
	}
	id := res.GetContainerId()
	r.mu.Lock()
	r.created[s.Container] = id
	r.mu.Unlock()
	r.acted(r.pod.UID, func(k *knowledge) { k.containers[id] = podstate.Created })
	if r.cfg.Pinning != nil {
		r.cfg.Pinning.Created(r.pod, s.Container, id, req.GetConfig().GetLinux().GetResources().GetCpusetCpus())
	}
	r.say(ctx, "Normal", "Created", "Container created", s.Container)
	return nil
}

// filesTake is the usual maximum time for reading and writing a container's files. If the file system takes longer or
// does not respond, the pod releases its slot meanwhile, so that other pods are not delayed.
const filesTake = 50 * time.Millisecond

// largeCreate is the size in bytes from which a request is large work for the runtime. Authors of pods and Secrets
// determine the size. The runtime encodes, stores and reads the request repeatedly: one of 7 MiB costs it some seconds
// of CPU time until the container runs.
const largeCreate = 512 << 10

// prepareCreate builds the request, which accesses files that other containers can write, and makes the directory of the container's logs.
func (r *run) prepareCreate(ctx context.Context, s *Step) error {
	dropped := make(chan struct{})
	late := time.AfterFunc(filesTake, func() {
		defer close(dropped)
		r.lease.drop()
	})
	defer func() {
		if !late.Stop() { // it is running: if not awaited, it could release the next step's slot
			<-dropped
		}
	}()
	req, err := r.createOnce(cri.Ungated(ctx), s) // the volumes' calls are not part of this step
	if err == nil {
		err = r.makeLogDir(s.Container)
	}
	if err != nil {
		err = unconfigured(s.Container, err)
		r.say(ctx, "Warning", "Failed", "Error: "+inShort(err), s.Container)
		return err
	}
	if err := r.preStart(ctx, s); err != nil {
		r.say(ctx, "Warning", "Failed", "Error: "+message(err), s.Container)
		return err
	}
	if proto.Size(req) > largeCreate {
		r.lease.grows()
	}
	return nil
}

// unconfigured gives an error before the call of the runtime its reason, unless it has one: a full disk, for example.
//
// Upstream: pkg/kubelet/kuberuntime/kuberuntime_container.go, startContainer.
func unconfigured(container string, err error) error {
	if _, typed := errors.AsType[*criconfig.Error](err); typed {
		return err
	}
	return &criconfig.Error{Reason: criconfig.ReasonContainerConfig, Container: container, Err: err, Says: message(err)}
}

// createOnce builds the request, or returns the one that a stepping user was shown.
func (r *run) createOnce(ctx context.Context, s *Step) (*runtimeapi.CreateContainerRequest, error) {
	r.mu.Lock()
	req := r.requests[s.ID]
	r.mu.Unlock()
	if req != nil {
		return req, nil
	}
	req, err := r.createRequest(ctx, s)
	if err == nil {
		r.mu.Lock()
		r.requests[s.ID] = req
		r.mu.Unlock()
	}
	return req, err
}

// shownOf returns the copy for people of a request that createOnce built.
func (r *run) shownOf(s *Step, req *runtimeapi.CreateContainerRequest) *runtimeapi.CreateContainerRequest {
	r.mu.Lock()
	defer r.mu.Unlock()
	if shown := r.shown[s.ID]; shown != nil {
		return shown
	}
	return req
}

// createRequest builds the exact request. On disk, it accesses only the files that the request mounts. No lock is held
// meanwhile.
func (r *run) createRequest(ctx context.Context, s *Step) (*runtimeapi.CreateContainerRequest, error) {
	c := podspec.Container(r.pod, s.Container)
	if err := r.needVolumes(ctx); err != nil {
		return nil, err
	}
	if err := r.missing(c); err != nil {
		return nil, err
	}
	sandbox, err := r.configOfSandbox(ctx)
	if err != nil {
		return nil, err
	}
	env, err := r.env(ctx, c)
	if err != nil {
		return nil, err
	}
	r.cfg.Secrets.Learn(r.ref.UID, redact.Environment(c.Name), criconfig.Secrets(env)...)
	in := criconfig.ContainerInput{RestartCount: int(s.Attempt), Env: env, Volumes: r.mounted()}
	r.mu.Lock()
	img := r.images[imageID(r.pod, c)]
	r.mu.Unlock()
	in.ImageRef, in.ImageUser = img.Ref, criconfig.ImageUser{UID: img.User.UID, Name: img.User.Name}
	if in.SubPaths, err = r.subPaths(ctx, c, env); err != nil {
		return nil, err
	}
	if in.HostsFile, err = r.writeHosts(ctx); err != nil {
		return nil, err
	}
	if in.TerminationLog, err = r.terminationLog(ctx, c); err != nil {
		return nil, err
	}
	if in.UserNS, err = r.userNS(ctx); err != nil {
		return nil, err
	}
	if in.TargetID, err = r.joins(c.Name); err != nil {
		return nil, err
	}
	if r.cfg.ExtraGroups != nil {
		in.ExtraGroups = r.cfg.ExtraGroups(r.pod)
	}
	if r.cfg.Pinning != nil {
		in.CPUs, in.MemoryNodes, in.ExclusiveCPUs = r.cfg.Pinning.Of(r.pod.UID, c.Name)
	}
	if r.cfg.BlockVolumes != nil && len(c.VolumeDevices) > 0 {
		in.BlockVolumes = r.cfg.BlockVolumes(r.pod)
	}
	if err := r.takeDevices(ctx, c, &in); err != nil {
		return nil, err
	}
	if err := r.takeClaims(c, &in); err != nil {
		return nil, err
	}
	cfg, err := criconfig.Container(r.pod, c, r.node(ctx, c), in)
	if err != nil {
		return nil, err
	}
	shown := &runtimeapi.CreateContainerRequest{PodSandboxId: r.sandboxID, Config: criconfig.Shown(cfg, c, in.Env), SandboxConfig: sandbox}
	r.mu.Lock()
	r.shown[s.ID] = shown
	r.mu.Unlock()
	return &runtimeapi.CreateContainerRequest{PodSandboxId: r.sandboxID, Config: cfg, SandboxConfig: sandbox}, nil
}

// env returns the container's environment.
func (r *run) env(ctx context.Context, c *v1.Container) ([]criconfig.Var, error) {
	ips, hostIPs := r.podIPs, r.cfg.HostIPs()
	if r.pod.Spec.HostNetwork {
		ips = hostIPs
	}
	in := criconfig.EnvInput{
		Fields: fieldpath.Inputs{PodIPs: podstate.PodIPs(ips, r.cfg.Family), HostIPs: hostIPs}, Allocatable: r.cfg.Node.Allocatable, Objects: r.cfg.EnvObjects,
	}
	in.File = func(volume, path string) ([]byte, error) { return r.envFile(ctx, volume, path) }
	if r.cfg.Services != nil {
		services, err := r.cfg.Services(ctx, r.pod)
		if err != nil {
			return nil, &criconfig.Error{Reason: criconfig.ReasonContainerConfig, Container: c.Name, Field: "env", Err: err}
		}
		in.Services = criconfig.ServiceEnv(r.pod, services)
	}
	return criconfig.Env(ctx, r.pod, c, in)
}

// joins returns the ID of the container whose processes an ephemeral container shares, "" for none.
//
// Upstream: pkg/kubelet/kuberuntime/kuberuntime_container.go, getTargetID.
func (r *run) joins(name string) (string, error) {
	for i := range r.pod.Spec.EphemeralContainers {
		e := &r.pod.Spec.EphemeralContainers[i]
		if e.Name != name || e.TargetContainerName == "" {
			continue
		}
		if c := r.seen.Newest(e.TargetContainerName); c != nil {
			return c.ID, nil
		}
		return "", &criconfig.Error{
			Reason: criconfig.ReasonContainerConfig, Container: name, Field: "targetContainerName",
			Err: fmt.Errorf("unable to find target container %s", e.TargetContainerName),
		}
	}
	return "", nil
}

// needVolumes gets the paths of the volumes if an earlier run mounted them.
func (r *run) needVolumes(ctx context.Context) error {
	if r.mounted() != nil {
		return nil
	}
	mounted, err := r.cfg.Volumes.Mount(ctx, r.pod)
	if err != nil {
		return err
	}
	r.setMounted(mounted)
	return nil
}

// terminationLog creates the file for the container's termination message, one for each attempt. No container writes to
// its directory: each has only its own file mounted.
//
// Upstream: pkg/kubelet/kuberuntime/kuberuntime_container.go, makeMounts.
func (r *run) terminationLog(ctx context.Context, c *v1.Container) (string, error) {
	if c.TerminationMessagePath == "" {
		return "", nil
	}
	dir := filepath.Join(r.podDir(), "containers", c.Name)
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return "", fmt.Errorf("termination log: %w", err)
	}
	path := filepath.Join(dir, string(uuid.NewUUID())[:8])
	if err := r.cfg.Files.Create(ctx, path, 0o666); err != nil { // every user in the container may write it
		return "", fmt.Errorf("termination log: %w", err)
	}
	return path, nil
}
