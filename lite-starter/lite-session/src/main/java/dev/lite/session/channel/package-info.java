/**
 * A channel: calls between two applications that bypass their nodes. One application calls one function of the other, through memory
 * that both have mapped. Between hosts, each end has memory of its own, and a link over TCP connects the two (below). Each end gets
 * the area's size, the function and the principal from its node, never from the memory.
 *
 * <p><b>Layout.</b> See {@link dev.lite.session.channel.ChannelArea}. There are up to 64 slots, each with a window for the request and
 * then the reply. A word with one bit per slot takes the place of a request ring: it cannot overflow, a caller that dies between two
 * steps leaves no gap, and every value of it is meaningful. Its bits are served in turn, so no slot starves.
 *
 * <p><b>One call.</b>
 *
 * <ol>
 *   <li>The caller takes a free slot, copies the request into the window, and sets the slot's word to a new generation and PENDING.
 *       It adds the slot's bit to the submitted ones.
 *   <li>A server thread clears the bit, changes PENDING to TAKEN, and copies the request to its own memory. It reads only this copy.
 *   <li>It copies the reply into the window, and sets the word to the same generation and DONE.
 *   <li>The caller checks the length, copies the reply and returns the slot.
 * </ol>
 *
 * <p>A caller that stops waiting changes PENDING or TAKEN to CANCELLED. The slot is then in quarantine until the server has set DONE.
 * A call that was never TAKEN was not done, and never will be.
 *
 * <p><b>Who wakes whom.</b> Every thread pauses, yields and only then sleeps ({@link dev.lite.os.waiting.StagedWait}). Before it
 * sleeps, a thread announces that with a full fence, and checks once more.
 *
 * <ul>
 *   <li>A caller sleeps on the word of its slot, with the bit SLEEPING in it. The server wakes it if it finds that bit when it sets
 *       DONE.
 *   <li>Server threads sleep on the doorbell. The last one that is awake sets it to 1 before it sleeps, the others set it to 2. A caller
 *       that submits changes 1 to 2 and wakes one thread. While it is 2 some thread is awake and will find further requests: no wake-up.
 *   <li>That thread may be busy for long with one request. So a caller whose request is still PENDING rings again before it sleeps;
 *       and a server thread that was woken wakes the next one if it leaves requests.
 *   <li>Virtual threads park, and a platform thread of their process sleeps for them ({@link
 *       dev.lite.session.waiting.VirtualWaits}). For those that receive, a virtual thread polls first ({@link
 *       dev.lite.session.waiting.PolledWaits}). Of the virtual threads of one group, one waits in this way, and the others wait for it.
 *   <li>An asynchronous call has no thread. Threads that wait for its future poll; otherwise the platform thread of {@link
 *       dev.lite.session.waiting.VirtualWaits} watches the word, and sleeps on it ({@link dev.lite.session.channel.StartedHere}).
 * </ul>
 *
 * <p><b>End.</b> Either end sets a word of the header to 1, changes every word that threads sleep on, and wakes all sleepers. Once an
 * end has seen that, it remembers it in its own memory, so the other end cannot take it back. A sleep lasts at most a second, so a
 * faulty other side that wakes nobody costs no more.
 *
 * <p><b>Trust.</b> Neither end trusts the other, which may write anything anywhere in the memory at any time. Each word is read once
 * and then checked. Which slots are in use, their generations and owners are in the private memory of each end. A wrong value ends the
 * channel; the message names it. Offsets come only from slot numbers below 64 and lengths that were checked, so no access leaves the
 * mapping.
 *
 * <p><b>Between hosts.</b> Each end has its own memory, and a {@link dev.lite.session.channel.ChannelLink} over a TCP connection that
 * the nodes have made for this channel alone. The caller's link sends the requests of PENDING slots and sets them to TAKEN; the
 * server's link writes them into its memory as if a caller did. Replies go back in the same way. When a caller stops waiting, its
 * link says so, and the server's end drops the request if no thread has taken it. The other end of the connection is not trusted,
 * either: frames that do not fit the state of their slot end the channel.
 */
@NullMarked
package dev.lite.session.channel;

import org.jspecify.annotations.NullMarked;
