package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/kubeloupe/kubeloupe/agent/cgroup"
	"github.com/kubeloupe/kubeloupe/agent/cri"
)

// real are the arguments for a real runtime.
func (t *tour) real() []string {
	if t.opt.cgroupRoot == "" {
		t.ownGroup = true
		t.opt.cgroupRoot = fmt.Sprintf("/kubeloupetour%d", os.Getpid())
	}
	args := []string{"--cgroup-root", t.opt.cgroupRoot}
	if t.opt.endpoint != "" {
		args = append(args, "--container-runtime-endpoint", t.opt.endpoint)
	}
	return args
}

// checkReal refuses a runtime that somebody needs.
func (t *tour) checkReal(ctx context.Context) error {
	files, err := newConfFiles(t.opt.confDir)
	if err != nil {
		return userError{fmt.Errorf("--cni-conf-dir: %w", err)}
	}
	t.net = files
	rt, err := t.cri(ctx)
	if err != nil {
		return userError{err}
	}
	pods, err := rt.Runtime.ListPodSandbox(ctx, &runtimeapi.ListPodSandboxRequest{})
	if err != nil {
		return fmt.Errorf("list sandboxes: %w", err)
	}
	if n := len(pods.GetItems()); n > 0 {
		m := pods.GetItems()[0].GetMetadata()
		return userError{fmt.Errorf("the runtime at %s has pods (%d, such as %s/%s), which this agent would delete: the tour needs a runtime without pods",
			t.node.cfg.Endpoint, n, m.GetNamespace(), m.GetName())}
	}
	return t.look(ctx, rt)
}

// look notes which images there are.
func (t *tour) look(ctx context.Context, rt *cri.Client) error {
	own, err := t.images(ctx, rt)
	if err != nil {
		return err
	}
	all, err := rt.Image.ListImages(ctx, &runtimeapi.ListImagesRequest{})
	if err != nil {
		return fmt.Errorf("list images: %w", err)
	}
	t.before = map[string]bool{}
	for _, i := range all.GetImages() {
		t.before[i.GetId()] = true
		if !i.GetPinned() && !slices.Contains(own, i.GetId()) {
			t.foreign = append(t.foreign, slices.Concat(i.GetRepoTags(), i.GetRepoDigests(), []string{i.GetId()})[0])
		}
	}
	return nil
}

// images are the ids of the tour's images, as far as the runtime has them.
func (t *tour) images(ctx context.Context, rt *cri.Client) ([]string, error) {
	var ids []string
	for _, name := range []string{t.opt.image, t.opt.other} {
		r, err := rt.Image.ImageStatus(ctx, &runtimeapi.ImageStatusRequest{Image: &runtimeapi.ImageSpec{Image: name}})
		if err != nil {
			return nil, fmt.Errorf("status of image %s: %w", name, err)
		}
		if id := r.GetImage().GetId(); id != "" {
			ids = append(ids, id)
		}
	}
	return ids, nil
}

// removeImages removes what the tour brought to a real runtime.
func (t *tour) removeImages(ctx context.Context) error {
	if t.before == nil {
		return nil
	}
	rt, err := t.cri(ctx)
	if err != nil {
		return err
	}
	ids, err := t.images(ctx, rt)
	for _, id := range ids {
		if t.before[id] {
			continue
		}
		if _, e := rt.Image.RemoveImage(ctx, &runtimeapi.RemoveImageRequest{Image: &runtimeapi.ImageSpec{Image: id}}); e != nil {
			err = errors.Join(err, fmt.Errorf("remove image %s: %w", id, e))
		}
	}
	return err
}

// removeCgroups removes the tour's own cgroup, once the agent has ended.
func (t *tour) removeCgroups() error {
	if !t.ownGroup {
		return nil
	}
	var errs []error
	for _, driver := range []cgroup.Driver{cgroup.Cgroupfs, cgroup.Systemd} {
		m, err := cgroup.New(cgroup.Config{Root: t.opt.cgroupRoot, Driver: driver})
		if err == nil {
			err = m.DestroyRoot(context.Background())
		}
		if _, none := errors.AsType[*cgroup.UnavailableError](err); !none {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
