package image

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/time/rate"
	"google.golang.org/grpc"
	v1 "k8s.io/api/core/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/kubeloupe/kubeloupe/agent/events"
	"github.com/kubeloupe/kubeloupe/agent/redact"
	"github.com/kubeloupe/kubeloupe/agent/semaphore"
	"github.com/kubeloupe/kubeloupe/trace"
)

// Service is the part of the CRI image service that a Puller needs.
// runtimeapi.ImageServiceClient satisfies it.
type Service interface {
	ImageStatus(context.Context, *runtimeapi.ImageStatusRequest, ...grpc.CallOption) (*runtimeapi.ImageStatusResponse, error)
	PullImage(context.Context, *runtimeapi.PullImageRequest, ...grpc.CallOption) (*runtimeapi.PullImageResponse, error)
}

// Keyring finds the credentials to try, in order, for a repository, for example docker.io/library/busybox. None means
// an anonymous pull.
type Keyring interface {
	Lookup(repository string) []*runtimeapi.AuthConfig
}

// Providers gets the logins of exec credential providers for a repository. Pod is the pod that needs the image; it may
// be nil.
type Providers interface {
	Lookup(ctx context.Context, repository string, pod *v1.Pod) []Credential
}

// Records store with which credentials an image was pulled, so that a pod without them cannot use it just because
// another pod pulled it. Image is the name in the manifest, ref the image's ID.
type Records interface {
	// MustPull reports whether a pod must prove by a pull that it may use a present image.
	MustPull(image, ref string, credentials func() ([]Credential, error)) (bool, error)
	// Begin records that a pull begins. Pulled or Failed follows. Pulled receives the credential that succeeded, nil
	// for none.
	Begin(image string) error
	Pulled(image, ref string, with *Credential)
	Failed(image string)
}

// Config is what a Puller needs.
type Config struct {
	// Service is the runtime's image service. Required.
	Service Service
	// Bus receives the events; nil drops them.
	Bus *trace.Bus
	// Serialize pulls one image at a time. MaxParallel is the maximum number of pulls at the same time; 0 means no
	// limit. If others wait, a pull without progress for clearly longer than usual no longer counts. In upstream, it
	// would block all others until the runtime cancels it.
	Serialize   bool
	MaxParallel int
	// QPS limits how many pulls begin per second; 0 means no limit.
	QPS float64
	// Burst is how many pulls may exceed QPS at once; it must be positive if QPS is.
	Burst int
	// Progress measures the bytes of a pull; nil means that they are unknown.
	Progress ProgressFunc
	// Keyring has the node's registry credentials; nil means none.
	Keyring Keyring
	// Providers are the exec credential providers; nil means none.
	Providers Providers
	// Records are the records of pulls; nil means that every pod may use every present image.
	Records Records
	// Events may be nil: then they are only published on the bus.
	Events events.Publisher
	// Sandbox returns what the runtime learns with a pull about the pod that needs the image: its namespace can have a
	// policy for signatures, an annotation can choose the runtime handler. Nil sends nothing.
	Sandbox func(pod *v1.Pod) *runtimeapi.PodSandboxConfig
	// Secrets learns the logins that a pod's pulls use; may be nil.
	Secrets *redact.Vault
}

// Puller ensures images. It is safe for concurrent use.
//
// Upstream: pkg/kubelet/images/image_manager.go, imageManager.
type Puller struct {
	service  Service
	bus      *trace.Bus
	slots    *semaphore.Slots // nil: no limit
	tokens   *rate.Limiter
	progress ProgressFunc
	keyring  Keyring
	backoff  backoff

	providers Providers
	records   Records
	sandbox   func(*v1.Pod) *runtimeapi.PodSandboxConfig // may be nil
	events    events.Publisher
	secrets   *redact.Vault
	flights   flights
	ensured   ensured
}

// New returns a Puller, or an error with everything that is wrong.
func New(c Config) (*Puller, error) {
	var errs []error
	if c.Service == nil {
		errs = append(errs, errors.New("image: Service is required"))
	}
	if c.MaxParallel < 0 {
		errs = append(errs, fmt.Errorf("image: maxParallelImagePulls is %d, must be 0 (no limit) or more", c.MaxParallel))
	}
	if c.Serialize && c.MaxParallel > 1 {
		errs = append(errs, fmt.Errorf("image: maxParallelImagePulls is %d, cannot be more than 1 unless serializeImagePulls is false", c.MaxParallel))
	}
	if c.QPS < 0 {
		errs = append(errs, fmt.Errorf("image: registryPullQPS is %v, must be 0 (no limit) or more", c.QPS))
	}
	if c.QPS > 0 && c.Burst <= 0 {
		errs = append(errs, fmt.Errorf("image: registryBurst is %d, must be positive when registryPullQPS is", c.Burst))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}

	p := &Puller{
		service: c.Service, bus: c.Bus, progress: c.Progress, keyring: c.Keyring,
		providers: c.Providers, records: c.Records, sandbox: c.Sandbox, events: c.Events, secrets: c.Secrets,
	}
	limit := c.MaxParallel
	if c.Serialize {
		limit = 1
	}
	if limit > 0 {
		var err error
		p.slots, err = semaphore.New(semaphore.Config{Name: "a place among the pulls", Target: trace.TargetPulls, Size: limit, Pace: pace(), Wait: trace.WaitOtherPull, Bus: c.Bus})
		if err != nil {
			return nil, err
		}
	}
	p.tokens = rate.NewLimiter(rate.Inf, 0)
	if c.QPS > 0 {
		p.tokens = rate.NewLimiter(rate.Limit(c.QPS), c.Burst)
	}
	return p, nil
}
