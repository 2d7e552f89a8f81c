package image

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"google.golang.org/grpc"
	"k8s.io/apimachinery/pkg/types"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/kubeloupe/kubeloupe/agent/podstate"
	"github.com/kubeloupe/kubeloupe/trace/sorting"
)

// Info is an image on the node.
type Info struct {
	ID      string   `json:"id"`
	Tags    []string `json:"tags,omitempty"`
	Digests []string `json:"digests,omitempty"`
	Bytes   uint64   `json:"bytes"`
	Pinned  bool     `json:"pinned,omitempty"`
	// UsedBy are the pods with a container of this image, or one that has it mounted.
	UsedBy []string `json:"used_by,omitempty"`
}

// Lister lists the runtime's images.
type Lister interface {
	ListImages(ctx context.Context, in *runtimeapi.ListImagesRequest, opts ...grpc.CallOption) (*runtimeapi.ListImagesResponse, error)
}

// List returns the images on the node, largest first, each with the pods that use it.
func List(ctx context.Context, images Lister, pods map[types.UID]*podstate.Pod) ([]Info, error) {
	res, err := images.ListImages(ctx, &runtimeapi.ListImagesRequest{})
	if err != nil {
		return nil, fmt.Errorf("list images: %w", err)
	}
	used := map[string][]string{}
	for _, pod := range pods {
		name := pod.Namespace + "/" + pod.Name
		for i := range pod.Containers {
			c := &pod.Containers[i]
			for _, id := range slices.AppendSeq([]string{c.ImageID, c.Image}, maps.Values(c.ImageMounts)) {
				if id != "" && !slices.Contains(used[id], name) {
					used[id] = append(used[id], name)
				}
			}
		}
	}
	out := []Info{}
	for _, i := range res.GetImages() {
		info := Info{ID: i.GetId(), Tags: i.GetRepoTags(), Digests: i.GetRepoDigests(), Bytes: i.GetSize(), Pinned: i.GetPinned()}
		for _, id := range slices.Concat([]string{i.GetId()}, i.GetRepoTags(), i.GetRepoDigests()) {
			info.UsedBy = append(info.UsedBy, used[id]...)
		}
		slices.Sort(info.UsedBy)
		info.UsedBy = slices.Compact(info.UsedBy)
		out = append(out, info)
	}
	sorting.Stable(out, func(a, b *Info) int {
		return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(a.ID, b.ID))
	})
	return out, nil
}
