package pulled

import (
	"fmt"
	"strings"

	"github.com/distribution/reference"
	kubeletv1beta1 "k8s.io/kubelet/config/v1beta1"
)

// Policy reports whether a pod must prove that it may use a present image. Pulled says that a kubelet pulled it;
// otherwise others loaded it.
type Policy func(image string, pulled bool) bool

// NewPolicy returns the policy of imagePullCredentialsVerificationPolicy. Allow are the patterns of
// preloadedImagesVerificationAllowlist.
//
// Upstream: pkg/kubelet/images/pullmanager/image_pull_policies.go.
func NewPolicy[S ~string](name S, allow []string) (Policy, error) {
	switch kubeletv1beta1.ImagePullCredentialsVerificationPolicy(name) {
	case kubeletv1beta1.NeverVerify:
		return func(string, bool) bool { return false }, nil
	case kubeletv1beta1.NeverVerifyPreloadedImages, "":
		return func(_ string, pulled bool) bool { return pulled }, nil
	case kubeletv1beta1.AlwaysVerify:
		return func(string, bool) bool { return true }, nil
	case kubeletv1beta1.NeverVerifyAllowlistedImages:
		return func(image string, _ bool) bool { return !allowed(allow, image) }, nil
	}
	return nil, fmt.Errorf("imagePullCredentialsVerificationPolicy %q: must be NeverVerify, NeverVerifyPreloadedImages, NeverVerifyAllowlistedImages or AlwaysVerify", name)
}

func allowed(patterns []string, image string) bool {
	name, err := repository(image)
	if err != nil {
		name = image
	}
	for _, p := range patterns {
		if prefix, ok := strings.CutSuffix(p, "*"); p == name || ok && strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

// repository returns an image's name from the manifest, without tag and digest.
func repository(image string) (string, error) {
	ref, err := reference.Parse(image)
	if err != nil {
		return "", fmt.Errorf("image %q: %w", image, err)
	}
	if d, ok := ref.(reference.Digested); ok {
		image = strings.TrimSuffix(image, "@"+d.Digest().String())
	}
	if t, ok := ref.(reference.Tagged); ok {
		image = strings.TrimSuffix(image, ":"+t.Tag())
	}
	return image, nil
}
