package crisuite

import (
	"context"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

func (s *suite) image(t *testing.T, ref string) *runtimeapi.Image {
	t.Helper()
	r, err := s.Image.ImageStatus(s.ctx, &runtimeapi.ImageStatusRequest{Image: &runtimeapi.ImageSpec{Image: ref}})
	check(t, err)
	return r.GetImage()
}

func (s *suite) removeImage(t *testing.T, ref string) {
	t.Helper()
	_, err := s.Image.RemoveImage(s.ctx, &runtimeapi.RemoveImageRequest{Image: &runtimeapi.ImageSpec{Image: ref}})
	check(t, err)
}

func (s *suite) testImages(t *testing.T) {
	s.removeImage(t, s.Spare)
	if got := s.image(t, s.Spare); got != nil {
		t.Fatalf("image that is not on the node = %v, want none", got)
	}
	s.removeImage(t, s.Spare) // once more, and nothing happens

	id := s.pull(t, s.Spare)
	image := s.image(t, s.Spare)
	equal(t, "id that the pull returned", id, image.GetId())
	equal(t, "tags", strings.Join(image.GetRepoTags(), " "), s.Spare)
	if len(image.GetRepoDigests()) != 1 || image.GetSize() == 0 {
		t.Fatalf("want one digest and a size: %v", image)
	}
	equal(t, "id of a second pull", s.pull(t, s.Spare), id)
	for _, ref := range []string{id, image.GetRepoDigests()[0]} {
		equal(t, "id by "+ref, s.image(t, ref).GetId(), id)
	}
	list, err := s.Image.ListImages(s.ctx, &runtimeapi.ListImagesRequest{})
	check(t, err)
	has := func(id string) bool {
		return slices.ContainsFunc(list.GetImages(), func(i *runtimeapi.Image) bool { return i.GetId() == id })
	}
	equal(t, "list has the image", has(id), true)
	fs, err := s.Image.ImageFsInfo(s.ctx, &runtimeapi.ImageFsInfoRequest{})
	check(t, err)
	if len(fs.GetImageFilesystems()) == 0 || fs.GetImageFilesystems()[0].GetFsId().GetMountpoint() == "" {
		t.Errorf("image file systems = %v, want one with a mount point", fs.GetImageFilesystems())
	}

	// An image that a container uses can be removed; the container then has the image's id alone.
	p := s.run(t)
	cfg := p.container("")
	cfg.Image.Image = id
	cfg.Command = nil
	container := p.create(t, cfg)
	st := s.status(t, container)
	equal(t, "image of the container", st.GetImage().GetImage(), s.Spare)
	equal(t, "image ref of the container", st.GetImageRef(), image.GetRepoDigests()[0])
	s.removeImage(t, id)
	if got := s.image(t, s.Spare); got != nil {
		t.Errorf("image after its removal by id = %v", got)
	}
	st = s.status(t, container)
	equal(t, "image of the container without its image", st.GetImage().GetImage(), id)
	equal(t, "image ref of the container without its image", st.GetImageRef(), id)

	// By digest the image comes without a tag.
	s.pull(t, image.GetRepoDigests()[0])
	equal(t, "tags after a pull by digest", len(s.image(t, id).GetRepoTags()), 0)
	s.pull(t, s.Spare)
	equal(t, "tags after a pull by tag", strings.Join(s.image(t, id).GetRepoTags(), " "), s.Spare)

	for ref, code := range map[string]codes.Code{s.Spare + "-nosuch": codes.NotFound, "Not A Reference": codes.Unknown} {
		_, err := s.Image.PullImage(s.ctx, &runtimeapi.PullImageRequest{Image: &runtimeapi.ImageSpec{Image: ref}})
		wantError(t, err, code, ref)
	}
	if got := s.image(t, "Not A Reference"); got != nil {
		t.Errorf("image by a bad reference = %v", got)
	}
	ctx, cancel := context.WithCancel(s.ctx)
	cancel()
	_, err = s.Image.PullImage(ctx, &runtimeapi.PullImageRequest{Image: &runtimeapi.ImageSpec{Image: s.Spare}})
	wantError(t, err, codes.Canceled, "")
}
