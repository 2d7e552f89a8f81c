package kubeevent

import (
	"regexp"
	"strconv"
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
)

var (
	fieldPath = regexp.MustCompile(`^spec\.(containers|initContainers|ephemeralContainers)\{([a-z0-9][-a-z0-9]{0,62})\}$`)
	quoted    = regexp.MustCompile(`"([^"]+)"`)
	imageSize = regexp.MustCompile(`Image size: (\d{1,18}) bytes`)
	claim     = regexp.MustCompile(`error processing PVC (?:[^ :/]{1,63}/)?([^ :/]{1,253}):`)
	volume    = regexp.MustCompile(`(?:failed|Multi-Attach error) for volume "([^"]{1,253})"`)
	ofObject  = regexp.MustCompile(`failed to sync (?:configmap|secret) cache|not registered|failed to fetch token`)
	pullTimes = regexp.MustCompile(` in ([0-9.a-zµ]{1,20}) \(([0-9.a-zµ]{1,20}) including waiting\)`)
)

// Container is the container that an Event's field is about, and whether it is an init container.
func Container(field string) (name string, isInit, ok bool) {
	m := fieldPath.FindStringSubmatch(field)
	if m == nil {
		return "", false, false
	}
	return m[2], m[1] == "initContainers", true
}

// Image is the image that a message of Pulling, Pulled, Failed or BackOff names; "" where it names none.
func Image(message string) string {
	if m := quoted.FindStringSubmatch(message); m != nil {
		return m[1]
	}
	return ""
}

// Pull is what the message of Pulled says. Upstream: pkg/kubelet/images/image_manager.go, EnsureImageExists.
type Pull struct {
	Image string
	// Bytes is the image's size; 0 where the message has none.
	Bytes int64
	// Took is how long the pull itself took, All with its wait for other pulls; both 0 where nothing was pulled or the message does not say.
	Took, All time.Duration
}

// maxPull bounds how long a pull may have taken: the message may be anybody's.
const maxPull = 24 * time.Hour

// Pulled reads a message of Pulled.
func Pulled(message string) Pull {
	p := Pull{Image: Image(message)}
	if m := imageSize.FindStringSubmatch(message); m != nil {
		p.Bytes, _ = strconv.ParseInt(m[1], 10, 64) // at most 18 digits
	}
	m := pullTimes.FindStringSubmatch(message)
	if m == nil {
		return p
	}
	took, err := time.ParseDuration(m[1])
	all, errAll := time.ParseDuration(m[2])
	if err == nil && errAll == nil && took >= 0 && took <= all && all < maxPull {
		p.Took, p.All = took, all
	}
	return p
}

// Waited is how long the pull waited for others, to a millisecond; 0 below that.
func (p *Pull) Waited() time.Duration {
	if w := p.All - p.Took; w >= time.Millisecond {
		return w
	}
	return 0
}

// FailedVolume is the volume that an Event says could not be attached or mounted, or its claim, and why; "" for other Events. Upstream:
// pkg/volume/util/operationexecutor/operation_generator.go and pkg/controller/volume/attachdetach/reconciler.
func FailedVolume(reason, message string) (name string, class trace.FailureClass) {
	switch reason {
	case "FailedMount", "FailedAttachVolume", "FailedMapVolume":
	default:
		return "", ""
	}
	m := volume.FindStringSubmatch(message)
	if m == nil && trace.Classify(message) == trace.FailUnbound { // it names the claim alone
		m = claim.FindStringSubmatch(message)
	}
	if m == nil {
		return "", ""
	}
	if ofObject.MatchString(message) {
		return Clean(m[1], 253), trace.FailObject
	}
	return Clean(m[1], 253), trace.Classify(message)
}
