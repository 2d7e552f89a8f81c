package auth

import (
	"context"
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// slowTokens is slow, and accepts tokens that begin with good.
type slowTokens struct {
	each             time.Duration
	now, most, asked atomic.Int64
}

func (s *slowTokens) Create(ctx context.Context, r *authenticationv1.TokenReview, _ metav1.CreateOptions) (*authenticationv1.TokenReview, error) {
	s.asked.Add(1)
	n := s.now.Add(1)
	defer s.now.Add(-1)
	for most := s.most.Load(); n > most && !s.most.CompareAndSwap(most, n); most = s.most.Load() {
	}
	if s.each > 0 {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(s.each):
		}
	}
	out := r.DeepCopy()
	out.Status.Authenticated = strings.HasPrefix(r.Spec.Token, "good")
	out.Status.User.Username = "ann"
	return out, nil
}

func from(address, token string) *http.Request {
	r := request("Authorization", "Bearer "+token)
	r.RemoteAddr = address
	return r
}

// Invented tokens do not evict a known one, wherever they come from.
func TestMadeUpTokensDoNotEvict(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reviews := &slowTokens{}
		a, err := New(Config{Tokens: reviews, TokenTTL: 2 * time.Minute, AlwaysAllow: true})
		if err != nil {
			t.Fatal(err)
		}
		if u, err := a.Authenticate(from("10.0.0.1:1", "good")); u == nil || err != nil {
			t.Fatalf("%+v, %v", u, err)
		}
		for i := range 10000 {
			_, _ = a.Authenticate(from(fmt.Sprintf("10.1.%d.%d:1", i/250, i%250), fmt.Sprint("made up ", i)))
		}
		before := reviews.asked.Load()
		if u, err := a.Authenticate(from("10.0.0.1:2", "good")); u == nil || err != nil {
			t.Fatalf("%+v, %v", u, err)
		}
		if n := reviews.asked.Load() - before; n != 0 {
			t.Errorf("the known token was reviewed again %d times", n)
		}
		if before > int64(tokenFailures.allBurst)+1 {
			t.Errorf("%d reviews in no time", before)
		}
	})
}

// A source that invents tokens and disconnects without waiting causes few reviews, leaves no goroutines, and does not
// block other sources.
func TestFloodOfReviews(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reviews := &slowTokens{each: time.Second}
		a, err := New(Config{Tokens: reviews, TokenTTL: 2 * time.Minute, AlwaysAllow: true})
		if err != nil {
			t.Fatal(err)
		}
		before := ownGoroutines()
		gone, goAway := context.WithCancel(t.Context())
		var all sync.WaitGroup
		for i := range 1000 {
			all.Go(func() {
				_, _ = a.Authenticate(from("10.0.0.66:1", fmt.Sprint("made up ", i)).WithContext(gone))
			})
		}
		synctest.Wait()
		if u, err := a.Authenticate(from("10.0.0.1:1", "good 1")); u == nil || err != nil {
			t.Errorf("somebody else: %+v, %v", u, err)
		}
		goAway()
		all.Wait()
		synctest.Wait() // those that end have ended
		if n := ownGoroutines() - before; n > reviewsEach {
			t.Errorf("%d goroutines are left", n)
		}
		if n := reviews.most.Load(); n > reviewsEach+1 {
			t.Errorf("%d reviews at once", n)
		}
		time.Sleep(reviewTimeout)
	})
}

// ownGoroutines counts those that run code of this package, or were begun by it: the Go runtime has others, which come and go.
func ownGoroutines() (n int) {
	stacks := make([]byte, 8<<20)
	for stack := range strings.SplitSeq(string(stacks[:runtime.Stack(stacks, true)]), "\n\n") {
		if strings.Contains(stack, "/agent/auth.") {
			n++
		}
	}
	return n
}

// The same token from many callers needs one review.
func TestOneReviewForTheSame(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reviews := &slowTokens{each: time.Second}
		a, err := New(Config{Tokens: reviews, TokenTTL: 2 * time.Minute, AlwaysAllow: true})
		if err != nil {
			t.Fatal(err)
		}
		var all sync.WaitGroup
		for i := range 100 {
			all.Go(func() {
				if u, err := a.Authenticate(from(fmt.Sprintf("10.0.0.%d:1", i), "good")); u == nil || err != nil {
					t.Errorf("%+v, %v", u, err)
				}
			})
		}
		all.Wait()
		if n := reviews.asked.Load(); n != 1 {
			t.Errorf("%d reviews", n)
		}
	})
}

// timedTokens accepts each token, after its time.
type timedTokens struct {
	takes map[string]time.Duration
	asked atomic.Int64
}

func (s *timedTokens) Create(_ context.Context, r *authenticationv1.TokenReview, _ metav1.CreateOptions) (*authenticationv1.TokenReview, error) {
	s.asked.Add(1)
	time.Sleep(s.takes[r.Spec.Token])
	out := r.DeepCopy()
	out.Status.Authenticated, out.Status.User.Username = true, "ann"
	return out, nil
}

// Callers that wait while other reviews of their source are slow do not request a review whose verdict is known by their turn.
func TestKnownWhileWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reviews := &timedTokens{takes: map[string]time.Duration{"slow 1": 9 * time.Second, "slow 2": 9 * time.Second, "other": time.Second, "same": time.Second}}
		a, err := New(Config{Tokens: reviews, TokenTTL: 2 * time.Minute, AlwaysAllow: true})
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		for _, token := range []string{"slow 1", "slow 2", "other"} {
			go func() { _, _ = a.Authenticate(from("10.0.0.1:1", token)) }()
		}
		synctest.Wait()
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				if u, err := a.Authenticate(from("10.0.0.1:1", "same")); u == nil || err != nil {
					t.Errorf("%+v, %v after %s", u, err, time.Since(began))
				}
			})
		}
		all.Wait()
		if n := reviews.asked.Load(); n != 4 || time.Since(began) != 2*time.Second {
			t.Errorf("%d reviews in %s, want 4 in 2 s", n, time.Since(began))
		}
		time.Sleep(time.Minute) // the slow ones end
	})
}

// A very large token is not sent to the API server.
func TestHugeToken(t *testing.T) {
	reviews := &slowTokens{}
	a, err := New(Config{Tokens: reviews, TokenTTL: time.Minute, AlwaysAllow: true})
	if err != nil {
		t.Fatal(err)
	}
	if u, err := a.Authenticate(request("Authorization", "Bearer good"+strings.Repeat("x", maxToken))); u != nil || err == nil || reviews.asked.Load() != 0 {
		t.Errorf("%+v, %v, %d reviews", u, err, reviews.asked.Load())
	}
}

// A user without rights can use ever new credentials of the same name: they do not evict those of authorized users.
func TestDeniedDoNotEvict(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reviews := &counted{}
		a, err := New(Config{Access: reviews, AllowedTTL: 5 * time.Minute, DeniedTTL: 30 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		ann := &User{Name: "ann"}
		if ok, _, err := a.Authorize(t.Context(), ann, "get", "proxy"); !ok || err != nil {
			t.Fatal(ok, err)
		}
		for i := range 10000 {
			_, _, _ = a.Authorize(t.Context(), &User{Name: "eve", Extra: map[string][]string{"id": {fmt.Sprint(i)}}}, "get", "proxy")
		}
		before := reviews.n.Load()
		if ok, _, err := a.Authorize(t.Context(), ann, "get", "proxy"); !ok || err != nil || reviews.n.Load() != before {
			t.Errorf("%v, %v after %d more reviews", ok, err, reviews.n.Load()-before)
		}
		if before > int64(accessFailures.eachBurst)+1 {
			t.Errorf("%d reviews in no time", before)
		}
	})
}

type counted struct{ n atomic.Int64 }

func (c *counted) Create(_ context.Context, r *authorizationv1.SubjectAccessReview, _ metav1.CreateOptions) (*authorizationv1.SubjectAccessReview, error) {
	c.n.Add(1)
	out := r.DeepCopy()
	out.Status.Allowed = r.Spec.User == "ann"
	return out, nil
}
