package dev.lite.session.channel;

import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.II_Result;

/**
 * The doorbell of a channel: a caller submits while a server thread is about to sleep. The first result is whether the caller rang, the
 * second whether the server thread may sleep.
 */
@JCStressTest
@Outcome(id = "0, 0", expect = Expect.ACCEPTABLE, desc = "The server thread saw the request; the caller saw it awake.")
@Outcome(id = "1, 1", expect = Expect.ACCEPTABLE, desc = "The server thread was about to sleep; the caller rang.")
@Outcome(id = "1, 0", expect = Expect.ACCEPTABLE, desc = "Each saw the other: the wake-up was not needed.")
@Outcome(expect = Expect.FORBIDDEN, desc = "0, 1: the server thread sleeps and nobody rings.")
@State
public class RequestBellStress {
    private final RequestBell bell = BellMemory.bell();

    /** The caller. */
    @Actor
    public void submit(II_Result result) {
        result.r1 = bell.submit(3) ? 1 : 0;
    }

    /** The server thread. */
    @Actor
    public void announce(II_Result result) {
        result.r2 = bell.announce(false) != 0 ? 1 : 0;
    }
}
