package dev.lite.os;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import org.junit.jupiter.api.Test;

class AcceptLoopTest {
    private static final String CAUSES_AN_EXCEPTION = "causes an exception";
    private static final String CAUSES_AN_ERROR = "causes an error";
    private static final String LAST = "last";

    private final Queue<String> arriving = new ArrayDeque<>();
    private final List<String> accepted = new ArrayList<>();
    private final List<Throwable> troubles = new ArrayList<>();
    private final AcceptLoop<String> loop = new AcceptLoop<>(arriving::remove, this::accept, troubles::add);

    private void accept(String peer) {
        accepted.add(peer);
        switch (peer) {
            case CAUSES_AN_EXCEPTION -> throw new IllegalStateException("a defect");
            case CAUSES_AN_ERROR -> throw new OutOfMemoryError("unable to create native thread");
            default -> loop.stop();
        }
    }

    /** Else no peer could connect to the node any more, although its socket still listens. */
    @Test
    void afterAnyFailureWithOnePeerTheLoopAcceptsTheNext() {
        arriving.addAll(List.of(CAUSES_AN_EXCEPTION, CAUSES_AN_ERROR, LAST));
        loop.run();
        assertThat(accepted).containsExactly(CAUSES_AN_EXCEPTION, CAUSES_AN_ERROR, LAST);
        assertThat(troubles)
                .extracting(Throwable::getMessage)
                .containsExactly("a defect", "unable to create native thread");
    }
}
