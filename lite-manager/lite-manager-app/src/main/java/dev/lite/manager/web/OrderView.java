package dev.lite.manager.web;

import com.fasterxml.jackson.annotation.JsonInclude;
import dev.lite.cluster.Order;
import java.time.Instant;
import org.jspecify.annotations.Nullable;

/**
 * An order and its progress.
 *
 * @param id its id
 * @param kind the task
 * @param state WANTED, RUNNING, DONE or FAILED
 * @param node of DRAIN, UNDRAIN and FREE_ORPHANS: the node
 * @param lmr of MOVE: the name of the LMR; absent for an LMR without a name
 * @param lmrId of MOVE: the id of an LMR without a name, as text
 * @param target of MOVE: the target node
 * @param leave of DRAIN: whether the node's process ends when it is empty
 * @param executor the node that executes it; absent while none does
 * @param done the amount done, in the unit that the note names
 * @param total the total amount; 0 when unknown
 * @param note the current work, or why it failed
 * @param submitted when it was submitted
 * @param changed when it was changed last
 */
@JsonInclude(JsonInclude.Include.NON_NULL)
record OrderView(
        long id,
        Order.Kind kind,
        Order.State state,
        @Nullable String node,
        @Nullable String lmr,
        @Nullable String lmrId,
        @Nullable String target,
        boolean leave,
        @Nullable String executor,
        long done,
        long total,
        String note,
        Instant submitted,
        Instant changed) {

    static OrderView of(Order order) {
        boolean moves = order.kind() == Order.Kind.MOVE;
        return new OrderView(
                order.id(),
                order.kind(),
                order.state(),
                moves ? null : orNull(order.subject()),
                moves ? orNull(order.subject()) : null,
                order.lmrId() == 0 ? null : Long.toString(order.lmrId()),
                orNull(order.target()),
                order.leave(),
                order.executor(),
                order.done(),
                order.total(),
                order.note(),
                Instant.ofEpochMilli(order.submittedMs()),
                Instant.ofEpochMilli(order.changedMs()));
    }

    private static @Nullable String orNull(String text) {
        return text.isEmpty() ? null : text;
    }
}
