package objcache

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"github.com/kubeloupe/kubeloupe/agent/kubeapi"
	"github.com/kubeloupe/kubeloupe/agent/redact"
	"github.com/kubeloupe/kubeloupe/trace"
)

// Strategy is how changes are noticed, with the values of configMapAndSecretChangeDetectionStrategy.
type Strategy string

// The strategies.
const (
	// Watch watches the objects that volumes show.
	Watch Strategy = "Watch"
	// Cache requests an object again if it is older than a minute.
	Cache Strategy = "Cache"
	// Get requests the object from the API server each time.
	Get Strategy = "Get"
)

const (
	// fetchTimeout limits one fetch, so that a dead connection does not block callers.
	fetchTimeout = 10 * time.Second
	// syncTimeout limits the wait for a first list.
	syncTimeout = 10 * time.Second
	// shared is the maximum age of a response that containers of one pod share.
	shared = 2 * time.Second
	// cached is this age for strategy Cache.
	cached = time.Minute
)

// Config is what a Cache needs.
type Config struct {
	Client kubeapi.Interface
	Bus    *trace.Bus
	// Strategy: "" means Watch.
	Strategy Strategy
	// Changed is called for a pod's volumes whose object has changed. It may be nil, and must not block:
	// volume.Manager's Refresh.
	Changed func(uid types.UID, volumes ...string)
	// Secrets receives the values of each pod's Secrets; may be nil.
	Secrets *redact.Vault
}

// Objects is the cache. Safe for concurrent use.
type Objects struct {
	cfg      Config
	services cache.SharedIndexInformer
	bundles  cache.SharedIndexInformer

	life context.Context // of fetches and watches, which do not end with a caller
	end  context.CancelFunc
	work sync.WaitGroup

	mu       sync.Mutex
	ended    bool
	started  bool // the informer of bundles
	items    map[key]*item
	pods     map[types.UID]refs
	trusting map[types.UID][]string // volumes with trust bundles, by pod
}

// New checks the configuration.
func New(cfg Config) (*Objects, error) {
	switch cfg.Strategy {
	case "":
		cfg.Strategy = Watch
	case Watch, Cache, Get:
	default:
		return nil, fmt.Errorf("objcache: Config.Strategy %q: want Watch, Cache or Get", cfg.Strategy)
	}
	if cfg.Client == nil {
		return nil, errors.New("objcache: Config.Client is missing")
	}
	if cfg.Changed == nil {
		cfg.Changed = func(types.UID, ...string) {}
	}
	c := &Objects{
		cfg: cfg, items: map[key]*item{}, pods: map[types.UID]refs{}, trusting: map[types.UID][]string{},
	}
	c.life, c.end = context.WithCancel(context.Background())
	var err error
	if c.services, err = newServices(cfg.Client); err != nil {
		return nil, err
	}
	c.bundles, err = c.newBundles()
	return c, err
}

// Run follows the services until ctx ends. Fetches and watches end with it.
func (c *Objects) Run(ctx context.Context) error {
	c.services.RunWithContext(ctx)
	c.mu.Lock()
	c.ended = true
	c.mu.Unlock()
	c.end()
	c.work.Wait()
	return nil
}

// RefreshAfter returns the time after which a volume with objects must be set up again; 0 means never, because changes
// are noticed.
func (c *Objects) RefreshAfter() time.Duration {
	if c.cfg.Strategy == Watch {
		return 0
	}
	return cached
}

// start runs do in a goroutine that ends with the cache. Called with mu.
func (c *Objects) start(do func()) bool {
	if c.ended {
		return false
	}
	c.work.Go(do)
	return true
}

// ConfigMap returns a ConfigMap that a registered pod refers to, at least as new as the registration. If there is none,
// apierrors.IsNotFound is true of the error. The object is shared: do not change it.
func (c *Objects) ConfigMap(ctx context.Context, namespace, name string) (*v1.ConfigMap, error) {
	obj, err := c.get(ctx, key{configMap, namespace, name})
	if err != nil {
		return nil, err
	}
	return obj.(*v1.ConfigMap), nil
}

// Secret is ConfigMap for a Secret.
func (c *Objects) Secret(ctx context.Context, namespace, name string) (*v1.Secret, error) {
	obj, err := c.get(ctx, key{secret, namespace, name})
	if err != nil {
		return nil, err
	}
	return obj.(*v1.Secret), nil
}
