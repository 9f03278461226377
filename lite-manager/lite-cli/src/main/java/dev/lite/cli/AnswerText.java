package dev.lite.cli;

import java.io.IOException;
import java.net.http.HttpResponse.BodySubscriber;
import java.net.http.HttpResponse.BodySubscribers;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Flow;
import org.jspecify.annotations.Nullable;

/** The text of a manager's answer, up to a limit. Used by one thread at a time. */
final class AnswerText implements BodySubscriber<String> {
    /** An eighth of the heap that the script gives: the text and its tree need several times as much. */
    static final int BYTES_MAX = 8 << 20;

    private final BodySubscriber<String> text = BodySubscribers.ofString(StandardCharsets.UTF_8);
    private Flow.@Nullable Subscription connection;
    private long bytes;

    /** An answer exceeds the limit. */
    static final class TooLongException extends IOException {
        private static final long serialVersionUID = 1L;

        TooLongException() {
            super("the answer has more than %d bytes, the limit of this command".formatted(BYTES_MAX));
        }
    }

    @Override
    public void onSubscribe(Flow.Subscription subscription) {
        connection = subscription;
        text.onSubscribe(subscription);
    }

    @Override
    public void onNext(List<ByteBuffer> part) {
        if (bytes > BYTES_MAX) {
            return; // it was under way when the subscription ended
        }
        bytes += part.stream().mapToLong(ByteBuffer::remaining).sum();
        if (bytes <= BYTES_MAX) {
            text.onNext(part);
            return;
        }
        if (connection != null) {
            connection.cancel();
        }
        text.onError(new TooLongException());
    }

    @Override
    public void onError(Throwable failure) {
        text.onError(failure);
    }

    @Override
    public void onComplete() {
        text.onComplete();
    }

    @Override
    public CompletionStage<String> getBody() {
        return text.getBody();
    }
}
