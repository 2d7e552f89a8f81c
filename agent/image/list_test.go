package image

import (
	"context"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"k8s.io/apimachinery/pkg/types"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/kubeloupe/kubeloupe/agent/podstate"
)

type store []*runtimeapi.Image

func (s store) ListImages(context.Context, *runtimeapi.ListImagesRequest, ...grpc.CallOption) (*runtimeapi.ListImagesResponse, error) {
	return &runtimeapi.ListImagesResponse{Images: s}, nil
}

// A pod uses the images of its containers and those of its image volumes.
func TestUsedBy(t *testing.T) {
	got, err := List(t.Context(), store{{Id: "sha256:1", RepoTags: []string{app}, Size: 1}, {Id: "sha256:2", Size: 3}, {Id: "sha256:3", Size: 2}}, map[types.UID]*podstate.Pod{
		"u": {Namespace: "shop", Name: "web", Containers: []podstate.Container{{Image: app, ImageMounts: map[string]string{"/models": "sha256:2"}}}},
		"v": {Namespace: "shop", Name: "cart", Containers: []podstate.Container{{ImageID: "sha256:1"}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, i := range got {
		lines = append(lines, i.ID+" "+strings.Join(i.UsedBy, ","))
	}
	if text := strings.Join(lines, "; "); text != "sha256:2 shop/web; sha256:3 ; sha256:1 shop/cart,shop/web" {
		t.Error(text)
	}
}
