"""The tools of the conversations below: a shop, made afresh for each run."""


class Shop:
    def __init__(self):
        self.orders = {
            "A15": {"item": "Darjeeling, 250 g", "paid": 12.40, "status": "delivered"},
            "A16": {"item": "Rooibos, 100 g", "paid": 6.50, "status": "delivered"},
            "A17": {"item": "Sencha, 100 g", "paid": 8.20, "status": "on its way", "arrives": "Thursday"},
        }

    def look_up_order(self, order: str) -> dict | str:
        """What was ordered, what was paid for it, and where it is.

        Args:
            order: the order's number, such as A17
        """
        return self.orders.get(order, f"there is no order {order}")

    def refund_order(self, order: str) -> str:
        """Give the customer the money for an order back.

        Args:
            order: the order's number, such as A17
        """
        found = self.orders[order]
        if found["status"] == "refunded":
            return f"order {order} has been refunded already"
        found["status"] = "refunded"
        return f"refunded {found['paid']:.2f} €"


def pytest_convo_tools():
    shop = Shop()
    return [shop.look_up_order, shop.refund_order]
