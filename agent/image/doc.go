// Package image makes sure that a container's image is on the node.
//
// It owns the pull policies, the queue of pulls (serial, or a number at the same time), the registry's rate limit, the back-off per
// pod and image, and Kubernetes' reasons (ErrImagePull, ImagePullBackOff, ErrImageNeverPull, ...). Pods of a namespace that want the same
// image with the same credentials at the same time share one pull. Credentials are the pod's secrets, then the node's docker config, then
// those of exec providers (agent/image/provider); agent/image/pulled decides who may use a pulled image.
//
// It never removes an image (agent/gc does), never retries by itself and never sleeps during a back-off: it returns when to retry
// (Error.RetryAt) and the pod's worker decides.
//
// It runs one goroutine per pull in progress, which ends with the pull, and one more if a progress source is set. Between pulls it
// runs none.
//
// It publishes ImagePull begin and end around each pull (Shared for the pods that are served by another's), ImageProgress while one
// runs, Wait for the queue, the rate limit and other pods' pulls, Decision for each back-off, and Kubernetes Events (Pulling,
// Pulled, Failed, BackOff, ...).
package image
