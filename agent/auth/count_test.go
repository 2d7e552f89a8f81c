package auth

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeloupe/kubeloupe/agent/exposition"
)

// heldTokens answers a review after a second.
type heldTokens struct{ tokens }

func (t *heldTokens) Create(ctx context.Context, r *authenticationv1.TokenReview, o metav1.CreateOptions) (*authenticationv1.TokenReview, error) {
	time.Sleep(time.Second)
	return t.tokens.Create(ctx, r, o)
}

func TestTokenCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reviews := &heldTokens{}
		a, err := New(Config{Tokens: reviews, TokenTTL: 2 * time.Minute, Anonymous: true, AlwaysAllow: true})
		if err != nil {
			t.Fatal(err)
		}
		ask := func(token string) { _, _ = a.Authenticate(request("Authorization", "Bearer "+token)) }
		check := func(what string, want Counts) {
			t.Helper()
			if diff := cmp.Diff(want, a.TokenCounts()); diff != "" {
				t.Errorf("%s (-want +got):\n%s", what, diff)
			}
		}
		_, _ = a.Authenticate(request("", ""))
		check("without a token", Counts{})
		for range 2 { // they share a review
			go ask("good")
		}
		synctest.Wait()
		check("during a review", Counts{Reviewing: 1, Waiting: 2})
		time.Sleep(time.Second)
		synctest.Wait()
		misses := exposition.Durations{N: 2, Seconds: 2, Within: [11]uint64{7: 2, 8: 2, 9: 2, 10: 2}}
		check("after it", Counts{Misses: misses, Reviewed: 1})
		ask("good")
		hits := exposition.Durations{N: 1, Within: [11]uint64{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}}
		check("of a known token", Counts{Hits: hits, Misses: misses, Reviewed: 1})
		ask("bad") // to be unknown is a verdict
		ask("odd")
		if got := a.TokenCounts(); got.Misses.N != 4 || got.Reviewed != 2 || got.Failed != 1 {
			t.Errorf("%+v, want 4 misses with 2 verdicts and 1 error", got)
		}
		reviews.err = errors.New("connection refused")
		ask("new")
		if got := a.TokenCounts(); got.Misses.N != 5 || got.Failed != 2 || got.Reviewing != 0 || got.Waiting != 0 {
			t.Errorf("%+v, want a failure of one more", got)
		}
	})
}
