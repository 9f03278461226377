package dev.lite.manager.web;

import com.fasterxml.jackson.annotation.JsonInclude;
import dev.lite.cluster.Order;
import java.time.Instant;
import org.jspecify.annotations.Nullable;

/**
 * An order, and how far it is.
 *
 * @param id its number
 * @param kind what is wanted
 * @param state WANTED, RUNNING, DONE or FAILED
 * @param node of DRAIN, UNDRAIN and FREE_ORPHANS: the node
 * @param lmr of MOVE: the name of the LMR; absent when it has none
 * @param lmrId of MOVE: the number of an LMR without a name, as text
 * @param target of MOVE: the node to go to
 * @param leave of DRAIN: whether the node's process ends when it is empty
 * @param executor the node that carries it out; absent while nobody does
 * @param done how much is done, in the unit that the note names
 * @param total of how much; 0 when that is not known
 * @param note what is being done, or why it failed
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
