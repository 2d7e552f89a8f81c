// Package image makes sure that a container's image is on the node.
//
// It owns the pull policies, the queue of pulls (serial, or so many at once), the
// registry's rate limit, the back-off per pod and image, and the reasons that users
// know (ErrImagePull, ImagePullBackOff, ErrImageNeverPull, ...). Pods that want the
// same image with the same credentials at the same time share one pull. Credentials are the
// pod's secrets, then the node's docker config, then what exec providers answer
// (agent/image/provider); who may use what was pulled with which is agent/image/pulled's.
//
// It never removes an image (agent/gc does), never retries on its own and never
// sleeps out a back-off: it says when to come back (Error.RetryAt) and the pod's
// worker decides.
//
// It runs one goroutine per pull that is under way, which ends with the pull, and one
// more beside it while a progress source is set. Between pulls it runs none.
//
// It publishes ImagePull begin and end around each pull (Shared for the pods that are
// served by another's), ImageProgress while one runs, Wait for the queue, the rate
// limit and other pods' pulls, Decision for each back-off, and the
// events that Kubernetes knows (Pulling, Pulled, Failed, BackOff, ...).
package image
