package image

import (
	"fmt"

	"github.com/distribution/reference"
	v1 "k8s.io/api/core/v1"
)

const defaultTag = "latest"

// Name is an image's name from a manifest, parsed.
type Name struct {
	// Image is the name for the runtime: as given, with a default tag if it had neither tag nor digest. Short names
	// stay short: the runtime completes them.
	Image string
	// Repository is the complete name without tag and digest, such as docker.io/library/busybox.
	Repository string
	// Tag is empty if only a digest is given.
	Tag string
	// Digest is, for example, sha256:...; empty if only a tag is given.
	Digest string
}

// ParseName parses an image's name.
//
// Upstream: pkg/util/parsers/parsers.go, ParseImageName, and pkg/kubelet/images/image_manager.go, applyDefaultImageTag.
func ParseName(image string) (Name, error) {
	named, err := reference.ParseNormalizedNamed(image)
	if err != nil {
		return Name{}, fmt.Errorf("couldn't parse image name %q: %w", image, err)
	}
	n := Name{Image: image, Repository: named.Name()}
	if t, ok := named.(reference.Tagged); ok {
		n.Tag = t.Tag()
	}
	if d, ok := named.(reference.Digested); ok {
		n.Digest = d.Digest().String()
	}
	if n.Tag == "" && n.Digest == "" {
		n.Tag = defaultTag
		n.Image = image + ":" + defaultTag
	}
	return n, nil
}

// DefaultPolicy returns the pull policy of a container without one: Always for the tag latest, IfNotPresent otherwise.
//
// Upstream: pkg/apis/core/v1/defaults.go, SetDefaults_Container.
func (n Name) DefaultPolicy() v1.PullPolicy {
	if n.Tag == defaultTag {
		return v1.PullAlways
	}
	return v1.PullIfNotPresent
}
