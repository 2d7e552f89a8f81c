package pulled

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/kubeloupe/kubeloupe/agent/image"
	"github.com/kubeloupe/kubeloupe/trace"
)

// Images lists the images on the node. runtimeapi.ImageServiceClient satisfies it.
type Images interface {
	ListImages(context.Context, *runtimeapi.ListImagesRequest, ...grpc.CallOption) (*runtimeapi.ListImagesResponse, error)
}

// Store has the records of one root directory. It is safe for concurrent use; no other process may write there.
type Store struct {
	policy          Policy
	bus             *trace.Bus
	pulling, pulled string // directories

	mu      sync.Mutex
	pulls   map[string]int     // running pulls, by the image's name
	records map[string]*record // cached, by the image's ID; nil for none. Never changed in place
	checks  map[Checked]uint64
}

// Open creates the directories below rootDir if necessary.
func Open(rootDir string, policy Policy, bus *trace.Bus) (*Store, error) {
	dir := filepath.Join(rootDir, "image_manager")
	s := &Store{
		policy: policy, bus: bus, pulling: filepath.Join(dir, "pulling"), pulled: filepath.Join(dir, "pulled"),
		pulls: map[string]int{}, records: map[string]*record{}, checks: map[Checked]uint64{},
	}
	for _, d := range []string{s.pulling, s.pulled} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			return nil, fmt.Errorf("directory of pull records: %w", err)
		}
	}
	return s, nil
}

// Settle creates records of the pulls that were in progress when an earlier agent stopped and whose images exist. Their
// credentials are unknown, so the next pod that needs such an image must have credentials for it. Call it once, before
// pulls begin. It lists images only if necessary.
//
// Upstream: pkg/kubelet/images/pullmanager/image_pull_manager.go, initialize.
func (s *Store) Settle(ctx context.Context, service Images) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	paths, err := list(s.pulling)
	s.complain(err)
	if len(paths) == 0 {
		return nil
	}
	resp, err := service.ListImages(ctx, &runtimeapi.ListImagesRequest{})
	if err != nil {
		return fmt.Errorf("images that were being pulled: %w", err)
	}
	for _, path := range paths {
		var in intent
		if ok, err := read(path, "ImagePullIntent", &in, &in.TypeMeta); err != nil || !ok {
			s.complain(err)
			continue
		}
		for _, img := range resp.GetImages() {
			if !slices.Contains(img.GetRepoTags(), in.Image) && !slices.Contains(img.GetRepoDigests(), in.Image) {
				continue
			}
			if err := s.merge(in.Image, img.GetId(), nil); err != nil {
				s.complain(err)
				continue
			}
			s.complain(remove(path))
		}
	}
	return nil
}

// Begin implements image.Records.
func (s *Store) Begin(name string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.pulls[name] == 0 {
		if err := write(filepath.Join(s.pulling, filename(name)), &intent{TypeMeta: typeMeta("ImagePullIntent"), Image: name}); err != nil {
			return fmt.Errorf("failed to record image pull intent: %w", err)
		}
	}
	s.pulls[name]++
	return nil
}

// Pulled implements image.Records.
func (s *Store) Pulled(name, ref string, with *image.Credential) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.merge(name, ref, recorded(with)); err != nil {
		s.complain(err)
		return // the file is kept: the image counts as pulled, and the next start retries
	}
	s.end(name)
}

// Failed implements image.Records.
func (s *Store) Failed(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.end(name)
}

func (s *Store) end(name string) {
	if s.pulls[name]--; s.pulls[name] > 0 {
		return
	}
	delete(s.pulls, name)
	s.complain(remove(filepath.Join(s.pulling, filename(name))))
}

// Prune removes the records of images that are gone, if they were last changed before that time: a newer record may be of an image that was
// not there yet. The time is rounded down, because records have whole seconds. Ids are the IDs of all existing images.
func (s *Store) Prune(ids []string, before time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	paths, err := list(s.pulled)
	s.complain(err)
	before = before.Truncate(time.Second)
	there := make(map[string]bool, len(ids))
	for _, id := range ids {
		there[id] = true
	}
	for _, path := range paths {
		var r record
		ok, err := read(path, "ImagePulledRecord", &r, &r.TypeMeta)
		s.complain(err)
		if !ok || !r.LastUpdatedTime.Time.Before(before) || there[r.ImageRef] {
			continue
		}
		s.complain(remove(path))
		delete(s.records, r.ImageRef)
	}
	maps.DeleteFunc(s.records, func(id string, r *record) bool { return r == nil && !there[id] }) // entries for images without a record
}

// get returns the record of an image, nil for none. The caller does not change it.
func (s *Store) get(ref string) (*record, error) {
	if r, ok := s.records[ref]; ok {
		return r, nil
	}
	r := &record{}
	ok, err := read(filepath.Join(s.pulled, filename(ref)), "ImagePulledRecord", r, &r.TypeMeta)
	if err != nil {
		return nil, err
	}
	if !ok || r.ImageRef != ref {
		r = nil
	}
	s.records[ref] = r
	return r, nil
}

// put writes a record.
func (s *Store) put(r *record) error {
	r.TypeMeta = typeMeta("ImagePulledRecord")
	r.LastUpdatedTime = metav1.Time{Time: time.Now()}
	if err := write(filepath.Join(s.pulled, filename(r.ImageRef)), r); err != nil {
		return fmt.Errorf("record of image %s: %w", r.ImageRef, err)
	}
	s.records[r.ImageRef] = r
	return nil
}

func (s *Store) complain(err error) {
	if err != nil {
		trace.Point(s.bus, trace.Span{}, trace.Log{Level: trace.LevelWarn, Message: "pull records: " + err.Error()})
	}
}
