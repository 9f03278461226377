package dev.lite.samples.thumbnail;

import dev.lite.api.RpcFailedException;
import dev.lite.api.RpcStatus;
import java.lang.reflect.Method;
import org.springframework.resilience.retry.MethodRetryPredicate;

/** Repeats calls that were not executed, because no node serves the function yet. */
final class NotServed implements MethodRetryPredicate {

    @Override
    public boolean shouldRetry(Method method, Throwable failure) {
        return failure instanceof RpcFailedException call && call.status() == RpcStatus.NOT_SERVED;
    }
}
