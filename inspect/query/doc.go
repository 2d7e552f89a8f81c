// Package query is the one grammar of conditions: of the filter of the terminal UI (/), of breakpoints (b WHAT if ...), of --fail-on and
// of --where. docs/conditions.md describes it for users. All conditions of a text must hold:
//
//	web            the text contains the word; small letters match capitals too
//	"two words"    contains exactly this; also for what would mean something else
//	web|api ^shop/ a word with | or .*, a leading ^ or a trailing $ is a regular expression
//	/we?b/ ~we?b   matches the regular expression
//	ns=shop        the field is shop, or a path that ends in /shop; == is the same, != the opposite
//	image~redis    the field matches the regular expression; !~ does not
//	took>1.5s      the field is more; also >= < <=, with units as s, MiB, 85%, 12:03
//	>500ms         the row took longer
//	err            a flag is set
//	!web           not; works before all of these, and so does -
//	a && b         && between conditions means what a space means
//
// The caller defines the fields and their kinds. An unknown field is an error that names the most similar one.
//
// It owns no state, runs no goroutine and publishes no event. The user of the command or of the UI writes the text, for breakpoints
// also every client of the control socket: its length is limited, and so are its regular expressions.
package query
