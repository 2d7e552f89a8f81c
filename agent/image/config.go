package image

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sync/semaphore"
	"golang.org/x/time/rate"
	"google.golang.org/grpc"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/kubeloupe/kubeloupe/trace"
)

// Service is the part of the CRI image service that a Puller needs.
// runtimeapi.ImageServiceClient satisfies it.
type Service interface {
	ImageStatus(context.Context, *runtimeapi.ImageStatusRequest, ...grpc.CallOption) (*runtimeapi.ImageStatusResponse, error)
	PullImage(context.Context, *runtimeapi.PullImageRequest, ...grpc.CallOption) (*runtimeapi.PullImageResponse, error)
}

// Keyring finds the credentials to try, in order, for a repository as
// docker.io/library/busybox. None means an anonymous pull.
type Keyring interface {
	Lookup(repository string) []*runtimeapi.AuthConfig
}

// Config is what a Puller is built from.
type Config struct {
	// Service is the runtime's image service. Required.
	Service Service
	// Bus is where events go; nil drops them.
	Bus *trace.Bus
	// Serialize pulls one image at a time.
	Serialize bool
	// MaxParallel bounds the pulls under way at once; 0 means no bound.
	MaxParallel int
	// QPS bounds how many pulls begin per second; 0 means no bound.
	QPS float64
	// Burst is how many pulls may begin at once within QPS; it must be positive when QPS is.
	Burst int
	// Progress follows a pull's bytes; nil means that nothing is known about them.
	Progress ProgressFunc
	// Keyring holds the node's registry credentials; nil means none.
	Keyring Keyring
}

// Puller ensures images. It is safe for concurrent use.
//
// Upstream: pkg/kubelet/images/image_manager.go, imageManager.
type Puller struct {
	service  Service
	bus      *trace.Bus
	slots    *semaphore.Weighted // nil: no bound
	limit    int
	tokens   *rate.Limiter
	progress ProgressFunc
	keyring  Keyring
	backoff  backoff
	flights  flights
}

// New returns a Puller, or every reason why it cannot be built.
func New(c Config) (*Puller, error) {
	var errs []error
	if c.Service == nil {
		errs = append(errs, errors.New("image: Service is required"))
	}
	if c.MaxParallel < 0 {
		errs = append(errs, fmt.Errorf("image: maxParallelImagePulls is %d, must be 0 (no bound) or more", c.MaxParallel))
	}
	if c.Serialize && c.MaxParallel > 1 {
		errs = append(errs, fmt.Errorf("image: maxParallelImagePulls is %d, cannot be more than 1 unless serializeImagePulls is false", c.MaxParallel))
	}
	if c.QPS < 0 {
		errs = append(errs, fmt.Errorf("image: registryPullQPS is %v, must be 0 (no bound) or more", c.QPS))
	}
	if c.QPS > 0 && c.Burst <= 0 {
		errs = append(errs, fmt.Errorf("image: registryBurst is %d, must be positive when registryPullQPS is", c.Burst))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}

	p := &Puller{service: c.Service, bus: c.Bus, limit: c.MaxParallel, progress: c.Progress, keyring: c.Keyring}
	if c.Serialize {
		p.limit = 1
	}
	if p.limit > 0 {
		p.slots = semaphore.NewWeighted(int64(p.limit))
	}
	p.tokens = rate.NewLimiter(rate.Inf, 0)
	if c.QPS > 0 {
		p.tokens = rate.NewLimiter(rate.Limit(c.QPS), c.Burst)
	}
	return p, nil
}
