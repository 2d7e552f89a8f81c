package image

import (
	"fmt"

	"github.com/distribution/reference"
	v1 "k8s.io/api/core/v1"
)

const defaultTag = "latest"

// Name is an image's name as a manifest gives it, taken apart.
type Name struct {
	// Image is the name to ask the runtime for: as given, with a tag if it had
	// neither tag nor digest. Short names stay short: completing them is the runtime's.
	Image string
	// Repository is the complete name without tag and digest, such as docker.io/library/busybox.
	Repository string
	// Tag is empty when only a digest is given.
	Tag string
	// Digest is as sha256:...; empty when only a tag is given.
	Digest string
}

// ParseName takes an image's name apart.
//
// Upstream: pkg/util/parsers/parsers.go, ParseImageName, and
// pkg/kubelet/images/image_manager.go, applyDefaultImageTag.
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

// DefaultPolicy is the pull policy of a container that names none: Always for the
// tag latest, IfNotPresent otherwise.
//
// Upstream: pkg/apis/core/v1/defaults.go, SetDefaults_Container.
func (n Name) DefaultPolicy() v1.PullPolicy {
	if n.Tag == defaultTag {
		return v1.PullAlways
	}
	return v1.PullIfNotPresent
}
